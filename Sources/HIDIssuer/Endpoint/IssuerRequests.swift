// SPDX-License-Identifier: Apache-2.0

internal import HIDCrypto

/// Where an app runs.
package enum Platform: String, Sendable, CaseIterable {
    case ios
    case android
    case test
}

/// Who asks: the members common to both endpoints.
package struct ClientIdentity: Sendable, Equatable {
    package var appID: String
    package var deviceID: String
    package var platform: Platform
}

/// What a client shows to get a token.
package enum Evidence: Sendable, Equatable {
    /// DER certificates, leaf first.
    case android(chain: [[UInt8]])
    case apple(keyID: [UInt8], object: [UInt8], publicKey: [UInt8])
    case test(publicKey: [UInt8], claims: TestClaims, signature: [UInt8])
    /// As on the wire: its form is judged by the rules of X-HID-Signature.
    case keyProof(signature: [UInt8])
}

/// `POST /v1/m/hid/v`, read.
package struct VerifyRequest: Sendable, Equatable {
    package var challengeID: String
    package var client: ClientIdentity
    package var evidence: Evidence
}

/// Reads the JSON of both endpoints strictly: duplicates, wrong types and anything over a bound are faults.
enum IssuerRequestReader {
    /// Octets of a request.
    static let contentLimit = 64 << 10
    private static let limits = StrictJSON.Limits(depth: 16, members: 64)
    /// As made here: 22 base64url characters; anything longer is not one of ours.
    static let challengeIDLength = 64

    /// Reads the content of a challenge request.
    static func challenge(_ content: [UInt8]) throws(IssuerFailure) -> ClientIdentity {
        let document = try document(content)
        return try identity(document)
    }

    /// Reads the content of a verify request.
    ///
    /// Returns the challenge also when the rest is faulty: it is used up all the same.
    static func verify(_ content: [UInt8]) -> (challengeID: String?, request: Result<VerifyRequest, IssuerFailure>) {
        let document: StrictJSON
        do throws(IssuerFailure) {
            document = try self.document(content)
        } catch {
            return (nil, .failure(error))
        }
        guard let id = text("challenge_id", document), (1...challengeIDLength).contains(id.count) else {
            return (nil, .failure(IssuerFailure(.badRequest, detail: "challenge_id")))
        }
        let challengeID = String(decoding: id, as: UTF8.self)
        do throws(IssuerFailure) {
            let client = try identity(document)
            let evidence = try evidence(document, client.platform)
            return (
                challengeID,
                .success(VerifyRequest(challengeID: challengeID, client: client, evidence: evidence))
            )
        } catch {
            return (challengeID, .failure(error))
        }
    }

    private static func document(_ content: [UInt8]) throws(IssuerFailure) -> StrictJSON {
        do throws(StrictJSONFault) {
            let document = try StrictJSON(content, limits: limits)
            guard document.kind(document.root) == .object else { throw StrictJSONFault.syntax }
            return document
        } catch {
            throw IssuerFailure(.badRequest, detail: "json: \(error)")
        }
    }

    private static func identity(_ document: StrictJSON) throws(IssuerFailure) -> ClientIdentity {
        guard let appID = text("app_id", document), Identifier.isValid(appID, maximum: Identifier.appIDLength) else {
            throw IssuerFailure(.badRequest, detail: "app_id")
        }
        guard let deviceID = text("device_id", document),
            Identifier.isValid(deviceID, maximum: Identifier.deviceIDLength)
        else { throw IssuerFailure(.badRequest, detail: "device_id") }
        guard let word = text("platform", document), let platform = Platform(rawValue: String(decoding: word, as: UTF8.self))
        else { throw IssuerFailure(.badRequest, detail: "platform") }
        return ClientIdentity(
            appID: String(decoding: appID, as: UTF8.self), deviceID: String(decoding: deviceID, as: UTF8.self),
            platform: platform)
    }

    private static func evidence(_ document: StrictJSON, _ platform: Platform) throws(IssuerFailure) -> Evidence {
        guard let type = text("type", document) else { throw IssuerFailure(.badRequest, detail: "type") }
        switch String(decoding: type, as: UTF8.self) {
        case "key_proof": return .keyProof(signature: try signature(document))
        case "attestation":
            switch platform {
            case .android: return .android(chain: try chain(document))
            case .ios:
                return .apple(
                    keyID: try base64("key_id", document, maximum: 64),
                    object: try base64("attestation_object", document, maximum: 32 << 10),
                    publicKey: try base64("public_key", document, maximum: 512))
            case .test:
                return .test(
                    publicKey: try base64("public_key", document, maximum: 512), claims: try claims(document),
                    signature: try signature(document))
            }
        default: throw IssuerFailure(.badRequest, detail: "type")
        }
    }

    /// Certificates as base64; how many and how large they may be is the verifier's business.
    private static func chain(_ document: StrictJSON) throws(IssuerFailure) -> [[UInt8]] {
        guard let node = document.member("certificate_chain", of: document.root),
            document.kind(node) == .array
        else { throw IssuerFailure(.badRequest, detail: "certificate_chain") }
        var chain: [[UInt8]] = []
        for element in document.elements(of: node) {
            guard let range = document.text(element), let der = decode(document, range) else {
                throw IssuerFailure(.badRequest, detail: "certificate_chain")
            }
            chain.append(der)
        }
        return chain
    }

    private static func claims(_ document: StrictJSON) throws(IssuerFailure) -> TestClaims {
        guard let node = document.member("claims", of: document.root),
            let claims = TestClaims(document, node)
        else { throw IssuerFailure(.badRequest, detail: "claims") }
        return claims
    }

    private static func signature(_ document: StrictJSON) throws(IssuerFailure) -> [UInt8] {
        guard let text = text("signature", document), (1...160).contains(text.count) else {
            throw IssuerFailure(.badRequest, detail: "signature")
        }
        return text
    }

    private static func base64(
        _ name: StaticString, _ document: StrictJSON, maximum: Int
    ) throws(IssuerFailure) -> [UInt8] {
        guard let node = document.member(name, of: document.root), let range = document.text(node),
            let octets = decode(document, range), (1...maximum).contains(octets.count)
        else { throw IssuerFailure(.badRequest, detail: "\(name)") }
        return octets
    }

    /// Standard base64 with its padding, or base64url without: never both alphabets in one text.
    private static func decode(_ document: StrictJSON, _ range: Range<Int>) -> [UInt8]? {
        let text = document.bytes.span.extracting(range)
        return Base64.decode(text) ?? Base64URL.decode(text)
    }

    private static func text(_ name: StaticString, _ document: StrictJSON) -> [UInt8]? {
        document.member(name, of: document.root).flatMap { document.textBytes($0) }
    }
}
