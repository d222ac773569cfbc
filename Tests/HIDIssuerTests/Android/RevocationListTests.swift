// SPDX-License-Identifier: Apache-2.0
import HIDCrypto
import HIDIssuer
import HIDTesting
import Testing

@Suite struct RevocationListTests {
    private func read(_ text: String) -> Result<RevocationList, RevocationListFault> {
        do throws(RevocationListFault) {
            return .success(try RevocationList(json: Array(text.utf8)))
        } catch { return .failure(error) }
    }

    @Test func `entries are found by the number and not by its spelling`() throws {
        let list = try read(
            #"{"entries":{"00Ab":{"status":"REVOKED"},"5204497509327368909":{"status":"SUSPENDED"},"#
                + #""0":{"status":"NEW"}},"more":[1]}"#
        ).get()
        #expect(list.count == 3)
        #expect(list.status(ofSerial: "ab") == .revoked)
        #expect(list.status(ofSerial: "5204497509327368909") == .suspended)
        #expect(list.status(ofSerial: "0") == .unknown)
        #expect(list.status(ofSerial: "abc") == nil)
    }

    @Test func `of two spellings of one number the worse counts`() throws {
        for (first, second) in [("REVOKED", "SUSPENDED"), ("SUSPENDED", "REVOKED")] {
            let list = try read(#"{"entries":{"ab":{"status":"\#(first)"},"0AB":{"status":"\#(second)"}}}"#).get()
            #expect(list.count == 1)
            #expect(list.status(ofSerial: "ab") == .revoked)
        }
    }

    @Test func `a list without entries is a list`() throws {
        #expect(try read(#"{"entries":{}}"#).get().count == 0)
    }

    @Test(arguments: [
        ("", RevocationListFault.json(.syntax)), ("{", .json(.syntax)), (#"{"entries":{}}x"#, .json(.syntax)),
        ("{}", .shape), ("[]", .shape), ("null", .shape), (#"{"entries":[]}"#, .shape),
        (#"{"entries":null}"#, .shape), (#"{"entries":{"1":"REVOKED"}}"#, .shape), (#"{"entries":{"1":{}}}"#, .shape),
        (#"{"entries":{"1":{"status":1}}}"#, .shape), (#"{"entries":{"1":{"status":null}}}"#, .shape),
        (#"{"entries":{"":{"status":"REVOKED"}}}"#, .serial), (#"{"entries":{"xyz":{"status":"REVOKED"}}}"#, .serial),
        (#"{"entries":{"-1":{"status":"REVOKED"}}}"#, .serial),
        (#"{"entries":{"0x1":{"status":"REVOKED"}}}"#, .serial),
        (#"{"entries":{"1":{"status":"REVOKED"},"1":{"status":"REVOKED"}}}"#, .json(.duplicateMember)),
        (#"{"entries":{"1":{"status":"A","status":"B"}}}"#, .json(.duplicateMember)),
        (#"{"entries":{"1":{"status":"REVOKED"},}}"#, .json(.syntax)),
    ])
    func `half a list is no list`(_ text: String, _ fault: RevocationListFault) {
        #expect(read(text) == .failure(fault))
    }

    @Test func `a list has at most 8 MiB`() {
        let space = String(repeating: " ", count: RevocationList.maximumSize - 14)
        #expect(read(#"{"entries":{}}"# + space) != .failure(.tooLong))
        #expect(read(#"{"entries":{}}"# + space + " ") == .failure(.tooLong))
    }

    @Test func `a list of 8 MiB is read in linear time`() throws {
        var text = #"{"entries":{"#
        for number in 0..<120_000 {
            text += #""\#(String(number, radix: 16))":{"status":"REVOKED","reason":"KEY_COMPROMISE"},"#
        }
        text += #""fffffff":{"status":"SUSPENDED"}}}"#
        let list = try read(text).get()
        #expect(list.count == 120_001)
        #expect(list.status(ofSerial: "1d4bf") == .revoked)
        let twice = text.replacing(#""fffffff""#, with: #""1d4bf""#)
        #expect(read(twice) == .failure(.json(.duplicateMember)))
    }

    @Test(.enabled(if: Vectors.isAvailable, Comment(rawValue: Vectors.missingNote)))
    func `real lists are read, and cut off nowhere`() throws {
        let octets = try Vectors.bytes("attestation/roots/android-statuslist-20260324.json")
        #expect(try RevocationList(json: octets).count == 1640)
        for count in stride(from: 0, to: octets.count - 10, by: 997) {
            #expect(throws: RevocationListFault.self) { try RevocationList(json: Array(octets.prefix(count))) }
        }
    }
}
