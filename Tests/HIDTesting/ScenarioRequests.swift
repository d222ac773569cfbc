// SPDX-License-Identifier: Apache-2.0
import HIDCrypto

/// Makes the requests of a scenario, step by step: `again` needs what went before.
package struct ScenarioRequests {
    private let issuer: TestIssuer
    private let device: TestDevice
    private let stranger: TestDevice
    private var token = ""
    private var signature = ""

    package init(issuer: TestIssuer, device: TestDevice) throws {
        self.issuer = issuer
        self.device = device
        stranger = try TestDevice()
    }

    /// The octets of a step's request, with tokens for a clock that shows `now`.
    package mutating func request(_ step: Scenario.Step, now: Int64) throws -> [UInt8] {
        let body: [UInt8] =
            step.words["body"].flatMap { Int($0) }.map { [UInt8](repeating: 0x62, count: $0) }
            ?? Array("{\"u\":1}".utf8)
        var head = "\(step.method) \(step.target) HTTP/1.1\r\nHost: api.example.test\r\n"
        let tokens = try makeTokens(step.words["token"] ?? "none", now: now)
        for text in tokens { head += "X-HID-Token: \(text)\r\n" }
        for text in try makeSignatures(step, body) { head += "X-HID-Signature: \(text)\r\n" }
        for field in step.fields { head += "\(field)\r\n" }
        guard step.words["chunked"] != nil else {
            return Array("\(head)Content-Length: \(body.count)\r\n\r\n".utf8) + body
        }
        var out = Array("\(head)Transfer-Encoding: chunked\r\n\r\n".utf8)
        for octet in body { out += Array("1\r\n".utf8) + [octet] + Array("\r\n".utf8) }
        return out + Array("0\r\n\r\n".utf8)
    }

    private mutating func makeTokens(_ word: String, now: Int64) throws -> [String] {
        switch word {
        case "none": return []
        case "again": return [token]
        case "twice": return [token, token]
        case "empty": return [""]
        case "long": return [String(repeating: "a", count: 4_097)]
        case "garbage": return ["not a token"]
        default:
            token = String(decoding: try mint(word, now: now), as: UTF8.self)
            return [token]
        }
    }

    private func mint(_ word: String, now: Int64) throws -> [UInt8] {
        var claims = issuer.claims(for: device, at: now)
        func times(_ issued: Int64, _ expires: Int64) {
            claims["iat"] = "\(now + issued)"
            claims["exp"] = "\(now + expires)"
        }
        switch word {
        case "good": break
        case "expired": times(-40, -10)
        case "future": times(60, 90)
        case "stale": times(-20, 10)
        case "blocked": claims["verdict"] = "\"blocked\""
        case "blocked-bare": (claims["verdict"], claims["cnf"]) = ("\"blocked\"", nil)
        case "watched-bare":
            (claims["verdict"], claims["cnf"]) = ("\"blocked\"", nil)
            claims["monitoring"] = "true"
        case "blocked-flag": claims["blocked"] = "true"
        case "suspicious": claims["verdict"] = "\"suspicious\""
        case "bot": claims["verdict"] = "\"bot\""
        case "odd": claims["verdict"] = "\"allow\""
        case "watched-bot": (claims["verdict"], claims["monitoring"]) = ("\"bot\"", "true")
        case "expired-bot":
            times(-40, -10)
            claims["verdict"] = "\"bot\""
        case "audience": claims["aud"] = "\"other\""
        case "strongbox": claims["lvl"] = "\"strongbox\""
        case "kid": return try TestIssuer(key: issuer.key, kid: "unknown").mint(claims)
        case "forged":
            return try issuer.mint(header: Array(issuer.header.json.utf8), payload: Array(claims.json.utf8)) {
                $0.enumerated().map { $0 == 40 ? $1 ^ 1 : $1 }
            }
        default: throw Scenario.Malformed(description: "unknown token word \(word)")
        }
        return try issuer.mint(claims)
    }

    private mutating func makeSignatures(_ step: Scenario.Step, _ body: [UInt8]) throws -> [String] {
        func bound(_ target: String) throws -> String {
            try device.signBound(
                method: step.method, authority: "api.example.test", target: target, token: Array(token.utf8), body: body
            )
        }
        switch step.words["sig"] ?? "none" {
        case "none": return []
        case "again": return [signature]
        case "twice": return [signature, signature]
        case "long": return [String(repeating: "A", count: 161)]
        case "garbage": return ["-----BEGIN"]
        case "v1": signature = try device.signDER(body)
        case "v1-raw": signature = TestDevice.base64URL(try device.sign(body))
        case "v2": signature = try bound(step.target)
        case "v2-moved": signature = try bound("/api/v1/other")
        case "altered": signature = try device.signDER(body + [0x20])
        case "stranger": signature = try stranger.signDER(body)
        case let word: throw Scenario.Malformed(description: "unknown signature word \(word)")
        }
        return [signature]
    }
}
