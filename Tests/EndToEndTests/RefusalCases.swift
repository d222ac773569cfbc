// SPDX-License-Identifier: Apache-2.0
import HIDTesting
import Testing

/// A request that does not verify, and what becomes of it.
struct RefusalCase: Sendable, CustomTestStringConvertible {
    let name: String
    let reason: String
    /// In `block`.
    var status = 403
    var decision = "block"
    /// What `safe_blocking` answers.
    let safely: Int
    let make: @Sendable (Bench) throws -> [UInt8]

    var testDescription: String { name }

    static let body = Array("{\"amount\":10}".utf8)

    private static func signed(_ bench: Bench, _ change: (inout TestClaims) -> Void) throws -> [UInt8] {
        Bench.post(token: try bench.token(change), signature: try bench.signature(body), body: body)
    }

    private static func bodySignature(_ text: @Sendable @escaping (Bench) throws -> String?)
        -> @Sendable (Bench) throws
        -> [UInt8]
    {
        { bench in Bench.post(token: try bench.token(), signature: try text(bench), body: body) }
    }

    static let tokens: [RefusalCase] = [
        .init(name: "no token", reason: "hid.token_missing", safely: 200) { _ in Bench.post(body: body) },
        .init(name: "empty token", reason: "hid.token_missing", safely: 200) { bench in
            Bench.post(token: "", signature: try bench.signature(body), body: body)
        },
        .init(name: "garbage token", reason: "hid.token_parts", safely: 403) { bench in
            Bench.post(token: "abc", signature: try bench.signature(body), body: body)
        },
        .init(name: "forged token", reason: "hid.sig_invalid", safely: 403) { bench in
            let token = try bench.token(of: TestIssuer())
            return Bench.post(token: token, signature: try bench.signature(body), body: body)
        },
        .init(name: "unknown key", reason: "hid.kid_unknown", safely: 200) { bench in
            let token = try bench.token(of: TestIssuer(kid: "other"))
            return Bench.post(token: token, signature: try bench.signature(body), body: body)
        },
        .init(name: "expired token", reason: "hid.expired", safely: 200) { bench in
            try signed(bench) {
                $0["iat"] = "\(Bench.now - 60)"
                $0["exp"] = "\(Bench.now - 30)"
            }
        },
        .init(name: "wrong audience", reason: "hid.aud", safely: 403) { try signed($0) { $0["aud"] = "\"other\"" } },
        .init(name: "wrong issuer", reason: "hid.iss", safely: 403) { try signed($0) { $0["iss"] = "\"https://x\"" } },
        .init(name: "too long a life", reason: "hid.lifetime", safely: 403) { bench in
            try signed(bench) { $0["exp"] = "\(Bench.now + 600)" }
        },
        .init(name: "blocked verdict", reason: "hid.verdict_block", safely: 403) { bench in
            try signed(bench) { $0["verdict"] = "\"blocked\"" }
        },
        .init(name: "blocked true", reason: "hid.verdict_block", safely: 403) { bench in
            try signed(bench) { $0["blocked"] = "true" }
        },
        .init(name: "bot", reason: "hid.verdict_block", safely: 403) { try signed($0) { $0["verdict"] = "\"bot\"" } },
        .init(name: "suspicious", reason: "hid.verdict_block", safely: 200) { bench in
            try signed(bench) { $0["verdict"] = "\"suspicious\"" }
        },
        .init(name: "unknown verdict", reason: "hid.verdict_unknown", safely: 200) { bench in
            try signed(bench) { $0["verdict"] = "\"odd\"" }
        },
        .init(name: "duplicate claim", reason: "hid.claims_dup", safely: 403) { bench in
            try signed(bench) { $0 = $0.appending("verdict", "\"human\"") }
        },
    ]

    static let signatures: [RefusalCase] = [
        .init(name: "no signature", reason: "sig.missing", safely: 200, make: bodySignature { _ in nil }),
        .init(name: "garbage signature", reason: "sig.length", safely: 403, make: bodySignature { _ in "AAAA" }),
        .init(
            name: "signature of another device", reason: "sig.invalid", safely: 403,
            make: bodySignature { _ in try TestDevice(hid: Bench.hid).signDER(body) }),
        .init(
            name: "altered body", reason: "sig.invalid", safely: 403,
            make: bodySignature { try $0.signature(Array("{\"amount\":11}".utf8)) }),
        .init(name: "bound to another path", reason: "sig.binding", safely: 403) { bench in
            let token = try bench.token()
            let signature = try bench.device.signBound(
                method: "POST", authority: "api.test", target: "/api/v1/other", token: Array(token.utf8), body: body)
            return Bench.post(token: token, signature: signature, body: body)
        },
        .init(name: "bound to another token", reason: "sig.binding", safely: 403) { bench in
            let signature = try bench.device.signBound(
                method: "POST", authority: "api.test", target: "/api/v1/login", token: Array(try bench.token().utf8),
                body: body)
            return Bench.post(token: try bench.token(), signature: signature, body: body)
        },
    ]

    static let statuses: [RefusalCase] = [
        .init(name: "two tokens", reason: "hid.token_multiple", status: 400, decision: "reject", safely: 400) { bench in
            let token = try bench.token()
            return Bench.post(
                token: token, signature: try bench.signature(body), body: body, fields: "X-HID-Token: \(token)\r\n")
        },
        .init(name: "two signatures", reason: "sig.multiple", status: 400, decision: "reject", safely: 400) { bench in
            let signature = try bench.signature(body)
            return Bench.post(
                token: try bench.token(), signature: signature, body: body, fields: "x-hid-signature: \(signature)\r\n")
        },
        .init(
            name: "underscore twin", reason: "http.name_underscore", status: 400, decision: "reject", safely: 400
        ) { try $0.good(body, fields: "X_HID-Token: x\r\n") },
        .init(
            name: "token of 4097 octets", reason: "hid.token_too_long", status: 431, decision: "reject", safely: 431
        ) { bench in
            let token = String(repeating: "a", count: 4097)
            return Bench.post(token: token, signature: try bench.signature(body), body: body)
        },
        .init(
            name: "signature of 161 octets", reason: "sig.too_long", status: 431, decision: "reject", safely: 431,
            make: bodySignature { _ in String(repeating: "A", count: 161) }),
        .init(
            name: "body over signed_body", reason: "sig.body_too_large", status: 413, decision: "reject", safely: 200
        ) { bench in
            let body = pattern(5001)
            return Bench.post(token: try bench.token(), signature: try bench.signature(body), body: body)
        },
        .init(
            name: "chunked body over signed_body", reason: "sig.body_too_large", status: 413, decision: "reject",
            safely: 200
        ) { bench in
            let body = pattern(5001)
            return Array(
                ("POST /api/v1/login HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\nX-HID-Token: "
                    + "\(try bench.token())\r\nX-HID-Signature: \(try bench.signature(body))\r\n\r\n1389\r\n").utf8)
                + body + Array("\r\n0\r\n\r\n".utf8)
        },
    ]

    static let all = tokens + signatures + statuses
    /// Those that all look alike to the client.
    static let alike = (tokens + signatures).filter { $0.status == 403 }
}
