// SPDX-License-Identifier: Apache-2.0

/// The answer to a request for a challenge.
struct ChallengeAnswer: Sendable, Equatable {
    let id: String
    let nonceText: String
    let nonce: [UInt8]
    /// Whether the server has a key of this device.
    let isKnown: Bool
    /// Seconds since 1970 by the server's clock.
    let serverTime: Int64?

    /// Reads the content of a 200.
    init(_ body: [UInt8]) throws(HumanIDFailure) {
        guard let answer = AnswerObject(body) else { throw .badAnswer("the challenge is no JSON object") }
        do throws(WrongMember) {
            guard let id = try answer.text("challenge_id"), (1...256).contains(id.utf8.count),
                let nonceText = try answer.text("nonce"), nonceText.utf8.count == 43,
                let nonce = Primitives.decodeBase64URL(nonceText)
            else { throw WrongMember(name: "challenge_id or nonce") }
            (self.id, self.nonceText, self.nonce) = (id, nonceText, nonce)
            switch try answer.text("key_status") {
            case "new": isKnown = false
            case "existing": isKnown = true
            default: throw WrongMember(name: "key_status")
            }
            serverTime = try answer.integer("server_time")
        } catch {
            throw .badAnswer("member \(error.name) of the challenge")
        }
    }
}

/// The answer to an attestation or key proof.
struct TokenAnswer: Sendable, Equatable {
    /// The greatest life of a token (PROTOCOL.md section 3); a greater one counts as this.
    static let longestLife: Int64 = 60

    let token: String
    /// Seconds from the moment of sending on.
    let expiresIn: Int64
    let hid: String?
    let verdict: String?
    let isBlocked: Bool

    /// Reads the content of a 200.
    init(_ body: [UInt8]) throws(HumanIDFailure) {
        guard let answer = AnswerObject(body) else { throw .badAnswer("the token's answer is no JSON object") }
        do throws(WrongMember) {
            guard try answer.text("status") == "ok" else { throw WrongMember(name: "status") }
            if let type = try answer.text("token_type"), type != "hid+jwt" { throw WrongMember(name: "token_type") }
            guard let token = try answer.text("token"), let payload = Self.payload(of: token) else {
                throw WrongMember(name: "token")
            }
            guard let life = try answer.integer("expires_in"), life > 0 else { throw WrongMember(name: "expires_in") }
            let hid = try answer.text("hid")
            if let hid, !(22...64).contains(hid.utf8.count) || !ASCIIText.isBase64URL(hid.utf8) {
                throw WrongMember(name: "hid")
            }
            (self.token, expiresIn, self.hid) = (token, min(life, Self.longestLife), hid)
            // Only shown, so whatever cannot be read is nothing.
            let claims = AnswerObject(payload)
            verdict = try? claims?.text("verdict")
            isBlocked = verdict == "blocked" || claims?.isTrue("blocked") == true
        } catch {
            throw .badAnswer("member \(error.name) of the token's answer")
        }
    }

    /// The octets of the middle part; nil for what is not the compact form of RFC 7515 section 7.1.
    private static func payload(of token: String) -> [UInt8]? {
        guard token.utf8.count <= 4096 else { return nil }
        let parts = token.utf8.split(separator: UInt8(ascii: "."), omittingEmptySubsequences: false)
        guard parts.count == 3, parts.allSatisfy({ !$0.isEmpty && ASCIIText.isBase64URL($0) }) else { return nil }
        return Primitives.decodeBase64URL(String(decoding: parts[1], as: UTF8.self))
    }
}

/// The answer to anything that the server refused.
struct RefusalAnswer: Sendable, Equatable {
    /// The error code of the protocol; nil when the content is none of its errors.
    let code: String?
    let requestID: String?
    private let status: Int
    private let retryAfter: Duration?

    init(_ answer: HumanIDTransportAnswer) {
        status = answer.status
        retryAfter = Self.seconds(answer.retryAfter)
        let error = AnswerObject(answer.body)?.object("error")
        code = (try? error?.text("code")).flatMap { Self.isWord($0) ? $0 : nil }
        requestID = (try? error?.text("request_id")).flatMap { Self.isWord($0) ? $0 : nil }
    }

    /// What the caller is told.
    var failure: HumanIDFailure {
        if status == 429 || code == "rate_limited" { return .rateLimited(retryAfter: retryAfter) }
        if (500...599).contains(status) || code == "unavailable" { return .unavailable(retryAfter: retryAfter) }
        guard let code, (400...499).contains(status) else { return .badAnswer("status \(status)") }
        return .rejected(code: code, requestID: requestID)
    }

    /// Delay seconds (RFC 9110 section 10.2.3); a date is not read, since it would need a right wall clock.
    private static func seconds(_ text: String?) -> Duration? {
        guard let digits = text?.utf8, (1...9).contains(digits.count), digits.allSatisfy(ASCIIText.isDigit) else {
            return nil
        }
        return .seconds(digits.reduce(0) { $0 * 10 + Int64($1 - UInt8(ascii: "0")) })
    }

    private static func isWord(_ text: String) -> Bool {
        (1...64).contains(text.utf8.count) && text.utf8.allSatisfy(ASCIIText.isVisible)
    }
}
