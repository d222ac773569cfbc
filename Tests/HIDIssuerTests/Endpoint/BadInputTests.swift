// SPDX-License-Identifier: Apache-2.0
import HIDCrypto
import HIDTesting
import Testing

@testable import HIDIssuer

/// Requests of every wrong shape.
@Suite(.timeLimit(.minutes(10))) struct BadInputTests {
    private let world: IssuerWorld
    private let phone: Phone
    private static let challengeMembers = ["app_id", "device_id", "platform"]

    init() throws {
        world = try IssuerWorld()
        phone = try Phone()
    }

    /// Values that stand for nothing good, whatever the member.
    private static let wrongValues = [
        "null", "7", "-1", "1.5", "true", "[]", "{}", "[\"a\"]", "{\"a\":1}", "\"\"", "\" \"", "\"\\u0000\"",
        "\"\u{e9}\"",
        "\"\\ud83d\\ude00\"", "\"a b\"", "\"a\\nb\"", "\"a/b\"", "\"" + String(repeating: "a", count: 48_000) + "\"",
    ]

    @Test(arguments: challengeMembers) func `a challenge request with a faulty member`(member: String) throws {
        let good = phone.challengeRequest
        for value in [nil] + Self.wrongValues.map(Optional.some) {
            let body = good.with(member, value).json
            let answer = try world.post(IssuerWorld.challengePath, Array(body.utf8))
            #expect((answer.status, answer.code) == (400, "bad_request"), "\(value?.prefix(40) ?? "missing")")
        }
        let double = good.appending(member, good[member] ?? "")
        #expect(try world.post(IssuerWorld.challengePath, Array(double.json.utf8)).code == "bad_request")
        let escaped = good.appending("\\u00\(String(member.utf8.first ?? 0, radix: 16))\(member.dropFirst())", "1")
        #expect(try world.post(IssuerWorld.challengePath, Array(escaped.json.utf8)).code == "bad_request")
        #expect(world.store.calls(.issue) == 0)
    }

    @Test(arguments: [("app_id", 64), ("device_id", 128)])
    func `identifiers end at their bound`(member: String, limit: Int) throws {
        let world = try IssuerWorld { configuration in
            let name = String(repeating: "a", count: 64)
            var app = configuration.apps["demo-app"]
            app?.appID = name
            configuration.apps[name] = app
        }
        for (count, isGood) in [(limit, true), (limit + 1, false)] {
            let body = phone.challengeRequest.with(member, "\"\(String(repeating: "a", count: count))\"").json
            #expect(try world.post(IssuerWorld.challengePath, Array(body.utf8)).code == (isGood ? "ok" : "bad_request"))
        }
        for name in ["a", "A-Z.a_z-0.9", ".", "..", "-"] {
            let body = phone.challengeRequest.with("device_id", "\"\(name)\"").json
            #expect(try world.post(IssuerWorld.challengePath, Array(body.utf8)).code == "ok")
        }
    }

    /// A right request of each kind and the members that it needs.
    private func requests() throws -> [(request: HIDTesting.TestClaims, members: [String])] {
        let (android, ios) = (try Phone(Phone.android), try Phone(Phone.ios))
        return try [
            (
                phone.testAttestation(world.challenge(phone), by: world.authority),
                ["public_key", "claims", "signature"]
            ),
            (phone.keyProof(world.challenge(phone)), ["signature"]),
            (android.androidAttestation(world.challenge(android)), ["certificate_chain"]),
            (
                ios.appleAttestation(world.challenge(ios), by: world.apple, key: TestSigningKey()),
                ["key_id", "attestation_object", "public_key"]
            ),
        ]
    }

    @Test func `a verify request with a faulty common member`() throws {
        for (request, _) in try requests() {
            for member in ["type", "challenge_id", "app_id", "device_id", "platform"] {
                for value in [nil] + Self.wrongValues.map(Optional.some) {
                    let answer = try world.verify(request.with(member, value))
                    // Any short text may be the name of a challenge.
                    let isName = member == "challenge_id" && value?.hasPrefix("\"") == true && value != "\"\""
                    #expect(
                        answer.code == "bad_request"
                            || isName && ["challenge_unknown", "bad_request"].contains(answer.code),
                        "\(member): \(value?.prefix(40) ?? "missing")")
                }
                let double = request.appending(member, request[member] ?? "")
                #expect(try world.verify(double).code == "bad_request")
            }
        }
    }

    @Test func `a verify request with a faulty member of its type`() throws {
        let octets = [
            "\"A\"", "\"AB==\"", "\"AAAA=\"", "\"AA\\nAA\"", "\"+-AA\"", "\"%41\"", "\"A===\"", "\"====\"",
        ]
        for (request, members) in try requests() {
            for member in members where member != "claims" {
                let isSignature = member == "signature"
                for value in Self.wrongValues + (isSignature || member == "certificate_chain" ? [] : octets) {
                    let code = try world.verify(request.with(member, value)).code
                    // The form of a signature, and a chain of nothing, are part of the evidence.
                    let isEvidence =
                        isSignature && value.hasPrefix("\"") || value == "[]" && member == "certificate_chain"
                    let known =
                        isEvidence ? ["bad_request", "challenge_unknown", "attestation_rejected"] : ["bad_request"]
                    #expect(known.contains(code), "\(member): \(value.prefix(40)) is \(code)")
                }
                #expect(try world.verify(request.with(member, nil)).code == "bad_request", "\(member)")
            }
        }
    }

    @Test(arguments: [
        "[]", "[7]", "[null]", "[[]]", "[\"A\"]", "[\"AB==\"]", "[\"AAAA\",{}]", "{\"0\":\"AAAA\"}", "[\"AA AA\"]",
    ])
    func `a chain is an array of base64`(chain: String) throws {
        let android = try Phone(Phone.android)
        let request = try android.androidAttestation(world.challenge(android)).with("certificate_chain", chain)
        #expect(try world.verify(request).code == (chain == "[]" ? "attestation_rejected" : "bad_request"))
    }

    @Test(arguments: [
        "[]", "null", "\"x\"", "7", #"{"level":null}"#, #"{"level":7}"#, #"{"level":["tee"]}"#, #"{"locked":"no"}"#,
        #"{"locked":1}"#, #"{"boot":"green"}"#, #"{"boot":null}"#, #"{"revoked":0}"#, #"{"revoked":null}"#,
        #"{"level":"tee","level":"tee"}"#, #"{"level":"tee","l\u0065vel":"tee"}"#,
    ])
    func `claims are an object whose known members have their type`(claims: String) throws {
        let request = try phone.testAttestation(world.challenge(phone), by: world.authority).with("claims", claims)
        #expect(try world.verify(request).code == "bad_request")
    }

    @Test func `unknown members are ignored, up to the bounds of the reader`() throws {
        let challenge = try world.challenge(phone)
        let request = try phone.testAttestation(challenge, by: world.authority)
            .with("sdk", "{\"version\":[1,2,{}]}").with("nothing", "null")
        #expect(try world.verify(request).code == "ok")
        var crowded = try phone.testAttestation(world.challenge(phone), by: world.authority)
        while crowded.members.count < 64 { crowded = crowded.appending("m\(crowded.members.count)", "1") }
        #expect(try world.verify(crowded).code == "ok")
        crowded = try phone.testAttestation(world.challenge(phone), by: world.authority)
        while crowded.members.count < 65 { crowded = crowded.appending("m\(crowded.members.count)", "1") }
        #expect(try world.verify(crowded).code == "bad_request")
    }

    @Test(arguments: [15, 16, 60_000]) func `deep JSON is refused before it is dug into`(depth: Int) throws {
        let nest = String(repeating: "[", count: depth) + (depth < 1000 ? String(repeating: "]", count: depth) : "")
        let body = phone.challengeRequest.with("deep", nest).json
        let answer = try world.post(IssuerWorld.challengePath, Array(body.utf8))
        #expect(answer.code == (depth < 16 ? "ok" : "bad_request"))
    }

    @Test(arguments: [
        "", " ", "null", "7", "\"\"", "[]", "{}", "{", "}", "\u{FEFF}{}", "{}{}", "{},", "nul", "{\"a\"}",
    ])
    func `what is no object is refused`(text: String) throws {
        for path in [IssuerWorld.challengePath, IssuerWorld.verifyPath] {
            #expect(try world.post(path, Array(text.utf8)).code == "bad_request")
        }
    }

    @Test func `octets that are no UTF-8 are refused wherever they stand`() throws {
        let body = Array(phone.challengeRequest.with("note", "\"abcdef\"").json.utf8)
        for index in body.indices {
            for octet in [0x80, 0xC0, 0xFF] as [UInt8] {
                var wrong = body
                wrong[index] = octet
                #expect(try world.post(IssuerWorld.challengePath, wrong).code == "bad_request")
            }
        }
    }

    @Test func `requests that end at any octet are refused`() throws {
        for (request, _) in try requests() {
            let body = Array(request.json.utf8)
            // Long bodies by a step that shares no factor with base64.
            for end in stride(from: 0, to: body.count, by: body.count > 1500 ? 7 : 1) {
                #expect(try world.post(IssuerWorld.verifyPath, Array(body[..<end])).code == "bad_request")
            }
        }
        let body = Array(phone.challengeRequest.json.utf8)
        for end in body.indices {
            #expect(try world.post(IssuerWorld.challengePath, Array(body[..<end])).code == "bad_request")
        }
    }
}
