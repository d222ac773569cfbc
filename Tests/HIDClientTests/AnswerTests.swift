// SPDX-License-Identifier: Apache-2.0
import HIDTesting
import Testing

@testable import HIDClient

/// The strict reading of what a server says.
@Suite struct AnswerTests {
    private static let nonce = TestDevice.base64URL([UInt8](repeating: 7, count: 32))
    private static let payload = TestDevice.base64URL(Array("{\"verdict\":\"human\"}".utf8))
    private static let hid = "d-0123456789abcdef-0123"
    private static let challenge = TestClaims([
        ("challenge_id", "\"c-1\""), ("nonce", "\"\(nonce)\""), ("key_status", "\"new\""), ("expires_in", "60"),
        ("server_time", "1800000000"),
    ])
    private static let token = TestClaims([
        ("status", "\"ok\""), ("token", "\"e30.\(payload).AAAA\""), ("token_type", "\"hid+jwt\""),
        ("expires_in", "30"), ("hid", "\"\(hid)\""),
    ])

    private func challengeFault(_ text: [UInt8]) -> HumanIDFailure? {
        do throws(HumanIDFailure) {
            _ = try ChallengeAnswer(text)
            return nil
        } catch { return error }
    }

    private func tokenFault(_ text: [UInt8]) -> HumanIDFailure? {
        do throws(HumanIDFailure) {
            _ = try TokenAnswer(text)
            return nil
        } catch { return error }
    }

    private func isRefused(challenge name: String, _ json: String?) -> Bool {
        challengeFault(Array(Self.challenge.with(name, json).json.utf8)) != nil
    }

    private func isRefused(token name: String, _ json: String?) -> Bool {
        tokenFault(Array(Self.token.with(name, json).json.utf8)) != nil
    }

    @Test func `good answers are read as they are`() throws {
        let challenge = try ChallengeAnswer(Array(Self.challenge.json.utf8))
        #expect(challenge.id == "c-1" && challenge.nonce == [UInt8](repeating: 7, count: 32) && !challenge.isKnown)
        #expect(challenge.serverTime == 1_800_000_000)
        #expect(try ChallengeAnswer(Array(Self.challenge.with("key_status", "\"existing\"").json.utf8)).isKnown)
        let token = try TokenAnswer(Array(Self.token.json.utf8))
        #expect(token.expiresIn == 30 && token.verdict == "human" && token.hid == Self.hid && !token.isBlocked)
    }

    @Test func `members that may be missing may be missing, and others may be there`() {
        #expect(!isRefused(challenge: "server_time", nil) && !isRefused(challenge: "expires_in", nil))
        #expect(!isRefused(token: "hid", nil) && !isRefused(token: "token_type", nil))
        #expect(!isRefused(token: "later", "[{}]") && !isRefused(challenge: "later", "null"))
    }

    @Test(arguments: ["null", "1", "true", "[]", "{}", "\"\"", "\"x\""])
    func `a member of another type or word is refused`(_ json: String) {
        for name in ["nonce", "key_status"] { #expect(isRefused(challenge: name, json), "\(name)") }
        for name in ["status", "token", "token_type", "hid"] { #expect(isRefused(token: name, json), "\(name)") }
        #expect(json == "1" || isRefused(token: "expires_in", json))
        #expect(json == "1" || isRefused(challenge: "server_time", json))
        #expect(json == "\"x\"" || isRefused(challenge: "challenge_id", json))
    }

    @Test func `a member that must be there must be there, once`() {
        for name in ["challenge_id", "nonce", "key_status"] {
            #expect(isRefused(challenge: name, nil), "\(name)")
            let twice = Self.challenge.appending(name, Self.challenge[name] ?? "")
            #expect(challengeFault(Array(twice.json.utf8)) != nil)
        }
        for name in ["status", "token", "expires_in"] {
            #expect(isRefused(token: name, nil), "\(name)")
            let twice = Self.token.appending(name, Self.token[name] ?? "")
            #expect(tokenFault(Array(twice.json.utf8)) != nil)
        }
    }

    @Test(arguments: ["0", "-1", "30.0", "3e1", "9223372036854775808", "\"30\""])
    func `a life that is no positive integer is refused`(_ json: String) {
        #expect(isRefused(token: "expires_in", json))
    }

    @Test(arguments: ["pending", "OK", "ok ", "error"])
    func `a status other than ok is refused`(_ status: String) {
        #expect(
            tokenFault(Array(Self.token.with("status", "\"\(status)\"").json.utf8))
                == .badAnswer("member status of the token's answer"))
    }

    @Test func `a token that is not three parts of base64url is refused`() {
        let bad = [
            "", ".", "..", "a.b", "a.b.c.d", "e30..AAAA", ".e30.AAAA", "e30.e30.", "e30.e30.AA==", "e30.e 0.AAAA",
            "e30.e30.AA\\r\\nX-Admin: 1", "e30.e30.\\u00e9AAA", "e30.A.AAAA", "e30.AB.AAAA",
            "e30.e30." + String(repeating: "A", count: 4_089),
        ]
        for token in bad { #expect(isRefused(token: "token", "\"\(token)\""), "\(token.prefix(40))") }
        #expect(!isRefused(token: "token", "\"e30.e30.\(String(repeating: "A", count: 4_088))\""))
    }

    @Test func `a nonce of another length or with unused bits is refused`() {
        for count in [0, 1, 31, 33, 64] {
            #expect(isRefused(challenge: "nonce", "\"\(TestDevice.base64URL([UInt8](repeating: 7, count: count)))\""))
        }
        #expect(isRefused(challenge: "nonce", "\"\(Self.nonce.dropLast())d\""))
        #expect(isRefused(challenge: "nonce", "\"\(Self.nonce)=\""))
        #expect(isRefused(challenge: "challenge_id", "\"\(String(repeating: "c", count: 257))\""))
    }

    @Test func `an answer cut at any length is refused`() {
        let challenge = Array(Self.challenge.json.utf8)
        for count in challenge.indices { #expect(challengeFault(Array(challenge.prefix(count))) != nil, "\(count)") }
        let token = Array(Self.token.json.utf8)
        for count in token.indices { #expect(tokenFault(Array(token.prefix(count))) != nil, "\(count)") }
        #expect(challengeFault(challenge + [0x7D]) != nil && tokenFault([0xEF, 0xBB, 0xBF] + token) != nil)
    }

    @Test func `no changed octet and no random text makes a reader trap`() {
        var generator = SystemRandomNumberGenerator()
        for text in [Array(Self.challenge.json.utf8), Array(Self.token.json.utf8)] {
            for index in text.indices {
                for bit in [index % 8, (index + 5) % 8] {
                    var changed = text
                    changed[index] ^= 1 << UInt8(bit)
                    _ = challengeFault(changed)
                    _ = tokenFault(changed)
                    _ = RefusalAnswer(.init(status: 403, body: changed)).failure
                }
            }
        }
        for _ in 0..<5_000 {
            let text = (0..<Int.random(in: 0...64, using: &generator)).map { _ in
                UInt8.random(in: 0...255, using: &generator)
            }
            #expect(challengeFault(text) != nil && tokenFault(text) != nil)
            _ =
                RefusalAnswer(
                    .init(
                        status: Int.random(in: -1...999), retryAfter: String(decoding: text, as: UTF8.self), body: text)
                ).failure
        }
    }

    @Test func `JSON texts are compact, escaped and sorted by the octets of names`() {
        let claims: [String: HumanIDClaim] = [
            "z": .flag(true), "a": .integer(-7), "B": .text("\"\\/\u{8}\u{c}\n\r\t\u{1}\u{7f}ä"), "é": .flag(false),
            "aa": .text(""),
        ]
        let text = String(decoding: JSONText.compact(JSONText.sorted(claims)), as: UTF8.self)
        #expect(
            text == #"{"B":"\"\\/\b\f\n\r\t\u0001"# + "\u{7f}" + #"ä","a":-7,"aa":"","z":true,"é":false}"#)
        #expect(JSONValue(text)?["B"].text == "\"\\/\u{8}\u{c}\n\r\t\u{1}\u{7f}ä")
        #expect(JSONText.compact(.array([])) == Array("[]".utf8) && JSONText.compact(.object([])) == Array("{}".utf8))
    }
}
