// SPDX-License-Identifier: Apache-2.0
import HIDCrypto
import HIDTesting
import HIDVerifier
import Testing

/// Section 1 of data/tokens/cases.md; rows about header fields and proxies are the gateway's.
@Suite struct TokenFormTests {
    private let harness: TokenHarness

    init() throws {
        harness = try TokenHarness()
    }

    @Test func `T01 the base token passes and tells its claims`() throws {
        let claims = harness.claims.with("lvl", "\"strongbox\"").with("plt", "\"android\"").with("env", "\"test\"")
            .with("score", "0.25").with("monitoring", "true")
        let check = try harness.check(claims)
        #expect(check.reason == nil)
        let token = try #require(check.token)
        #expect(token.keyID == Array("k1".utf8))
        #expect(token.hid == Array(harness.device.hid.utf8))
        #expect(token.tokenID.count == 22)
        #expect(token.issuedAt == TokenHarness.now && token.expiresAt == TokenHarness.now + 30)
        #expect(token.verdict == .human && !token.isBlocked && token.isMonitoring && !token.refusesDevice)
        #expect(token.deviceKey == harness.device.key.publicKey.point)
        #expect(token.level == Array("strongbox".utf8) && token.platform == Array("android".utf8))
        #expect(token.environment == Array("test".utf8) && token.score == Array("0.25".utf8))
        #expect(token.verdictReason() == nil)
    }

    @Test(arguments: ["", " ", "   ", "\t", " \t "])
    func `T03 an empty value is a missing token`(_ value: String) {
        #expect(harness.check(value).reason == .tokenMissing)
    }

    @Test func `T11 a token may have 4096 octets and no more`() throws {
        let base = try harness.issuer.mint(harness.claims)
        #expect(harness.check(String(repeating: "a", count: 4097)).reason == .tokenTooLong)
        #expect(harness.check(base + Array(repeating: 0x41, count: 4097 - base.count)).reason == .tokenTooLong)
        // Fill up with an ignored claim until the size is reached as closely as base64 allows.
        var full = base
        for count in 2400..<3000 where full.count < 4094 {
            full = try harness.issuer.mint(harness.claims.with("pad", "\"\(String(repeating: "x", count: count))\""))
        }
        #expect(full.count >= 4094)
        #expect(full.count <= 4096)
        #expect(harness.check(full).reason == nil)
    }

    @Test func `T12 dots alone are cheap and refused`() {
        #expect(harness.check(String(repeating: ".", count: 8192)).reason == .tokenTooLong)
        #expect(harness.check(String(repeating: ".", count: 4000)).reason == .tokenParts)
    }

    @Test func `T14 an empty signature has the wrong length`() throws {
        let parts = try harness.parts()
        #expect(harness.check("\(parts[0]).\(parts[1]).").reason == .tokenSignatureLength)
    }

    @Test func `T15 an empty header is no token`() throws {
        let parts = try harness.parts()
        #expect(harness.check(".\(parts[1]).\(parts[2])").reason == .tokenParts)
        #expect(harness.check("..").reason == .tokenParts)
    }

    @Test func `T16 an empty payload is no JSON, even when signed`() throws {
        let token = try harness.issuer.mint(header: harness.header.json, payload: "")
        #expect(harness.check(token).reason == .claimsJSON)
    }

    @Test func `T17 T19 only three parts are a token`() throws {
        let parts = try harness.parts()
        let token = parts.joined(separator: ".")
        for text in [
            "\(token).\(parts[0]).\(parts[1])", "\(token).", "\(token).\(parts[2])", "\(parts[0]).\(parts[1])",
            parts[0],
            ".\(token)", "\(token)..",
        ] {
            #expect(harness.check(text).reason == .tokenParts)
        }
    }

    @Test(arguments: [
        " ", "\t", "\r\n", "\n", "=", "==", "+", "/", "?", "#", ",", "\"", "%", "\0", "\u{7F}", "\u{E9}", "{",
    ])
    func `T20 T21 T22 T23 any other octet in any part is refused`(_ inserted: String) throws {
        let parts = try harness.parts()
        for part in 0..<3 {
            for isInFront in [true, false] {
                var changed = parts
                changed[part] = isInFront ? inserted + parts[part] : parts[part] + inserted
                #expect(harness.check(changed.joined(separator: ".")).reason == .tokenCharset)
            }
            var changed = parts
            changed[part].replaceSubrange(changed[part].startIndex...changed[part].startIndex, with: inserted)
            #expect(harness.check(changed.joined(separator: ".")).reason == .tokenCharset)
        }
    }

    @Test func `a Bearer prefix, quotes, joined tokens and the JSON form are refused`() throws {
        let token = try harness.parts().joined(separator: ".")
        for text in [
            "Bearer \(token)", "\"\(token)\"", "\(token),\(token)", "\(token), \(token)", "{\"payload\":\"e30\"}",
        ] {
            #expect(harness.check(text).reason == .tokenCharset)
        }
    }

    @Test func `a part of length 1 modulo 4 is no base64`() throws {
        let parts = try harness.parts()
        for part in 0..<3 {
            var changed = parts
            while changed[part].utf8.count % 4 != 1 { changed[part].append("A") }
            #expect(harness.check(changed.joined(separator: ".")).reason == .base64)
        }
    }

    @Test func `unused bits must be zero in every part`() throws {
        // Pad header and payload by white space until their last characters have unused bits.
        let header = harness.header.json
        let payload = harness.claims.json
        for padding in 0..<3 {
            let spaces = String(repeating: " ", count: padding)
            let token = try harness.issuer.mint(header: header + spaces, payload: payload + spaces)
            let parts = String(decoding: token, as: UTF8.self).split(separator: ".").map(String.init)
            #expect(harness.check(token).reason == nil)
            for part in 0..<3 where parts[part].utf8.count % 4 != 0 {
                var changed = parts
                let last = changed[part].removeLast()
                let next = UnicodeScalar(UInt8(ascii: last.unicodeScalars.first ?? "A") + 1)
                changed[part].unicodeScalars.append(next)
                #expect(harness.check(changed.joined(separator: ".")).reason == .base64Noncanonical)
            }
        }
    }
}
