// SPDX-License-Identifier: Apache-2.0
import HIDCrypto
import HIDTesting
import HIDVerifier
import Testing

/// Section 7 of data/tokens/cases.md; rows about framing are the gateway's.
@Suite struct RequestSignatureTests {
    private let harness: TokenHarness
    private let verifier: SignatureVerifier
    private let body = Array("{\"u\":\"a\",\"p\":\"b\"}".utf8)
    private let login = SignedRequest(
        method: Array("POST".utf8), authority: Array("api.test".utf8), target: Array("/api/v1/login".utf8))

    init() throws {
        harness = try TokenHarness()
        verifier = try #require(SignatureVerifier())
    }

    private func parse(_ value: String, _ profiles: SignatureProfiles = [.v1, .v2]) -> Result<SignatureHeader, Reason> {
        SignatureHeader.parse(Array(value.utf8), accepting: profiles)
    }

    private func fault(_ value: String, _ profiles: SignatureProfiles = [.v1, .v2]) -> Reason? {
        guard case .failure(let reason) = parse(value, profiles) else { return nil }
        return reason
    }

    /// The reason that a signature value gets for a request.
    private func reason(
        _ value: String, body: [UInt8]? = nil, request: SignedRequest? = nil, token: [UInt8] = [0x74],
        device: TestDevice? = nil
    ) -> Reason? {
        switch parse(value) {
        case .failure(let reason): return reason
        case .success(let header):
            let digest = SHA256.digest(body ?? self.body)
            let key = (device ?? harness.device).key.publicKey.point
            return verifier.verify(
                header, bodyDigest: digest, request: request ?? login, token: token, deviceKey: key)
        }
    }

    @Test func `S03 S04 S05 all forms of a right signature verify`() throws {
        for _ in 0..<40 {
            let raw = try harness.device.sign(body)
            let der = try #require(ECDSASignature.encodeDER(raw))
            for octets in [raw, der] {
                #expect(reason(TestDevice.base64(octets)) == nil)
                #expect(reason(TestDevice.base64URL(octets)) == nil)
            }
        }
    }

    @Test(arguments: ["", " ", "\t"])
    func `S01 an empty value is a missing signature`(_ value: String) {
        #expect(fault(value) == .signatureMissing)
    }

    @Test func `S06 one alphabet, and padding where it belongs`() throws {
        // The three octets in the middle are ++// in one alphabet and --__ in the other.
        let octets = [UInt8](repeating: 0x7B, count: 30) + [0xFB, 0xEF, 0xFF] + [UInt8](repeating: 0x7B, count: 31)
        let standard = TestDevice.base64(octets)
        let url = TestDevice.base64URL(octets)
        #expect(standard.contains("+") && standard.contains("/") && url.contains("-") && url.contains("_"))
        #expect(fault(standard) == nil && fault(url) == nil)
        let bare = String(standard.prefix { $0 != "=" })
        var wrapped = standard
        wrapped.insert("\n", at: standard.index(standard.startIndex, offsetBy: 76))
        let bad = [
            bare, url + "==", standard + "=", String(standard.dropLast()), standard.replacing("+", with: "-"),
            standard.replacing("/", with: "_"), " " + standard, standard + " ", wrapped, standard + "\r\n",
            "AAAA AAAA", "=", "====", "A", "AAAAA", "\u{E9}AAA", "AA=A", "A===",
        ]
        for value in bad { #expect(fault(value) == .signatureBase64, "\(value)") }
    }

    @Test func `unused bits must be zero`() {
        // 0x10 at the end is EA in base64: the last character has four unused bits.
        let octets = [UInt8](repeating: 0x10, count: 64)
        let standard = TestDevice.base64(octets)
        let url = TestDevice.base64URL(octets)
        #expect(fault(standard) == nil && fault(url) == nil)
        #expect(fault(standard.dropLast(3) + "B==") == .signatureBase64)
        #expect(fault(url.dropLast() + "B") == .signatureBase64)
    }

    @Test func `S08 hex, PEM and JSON are no signature`() throws {
        let raw = try harness.device.sign(body)
        let hex = raw.map { String($0 >> 4, radix: 16) + String($0 & 15, radix: 16) }.joined()
        #expect(fault(hex) == .signatureFormat)
        #expect(fault("-----BEGIN SIGNATURE-----\n") == .signatureBase64)
        #expect(fault("[48,69,2,33]") == .signatureBase64)
        #expect(fault("{\"r\":\"\"}") == .signatureBase64)
    }

    @Test(arguments: [1, 8, 32, 62, 63, 65, 66])
    func `S11 a signature that is no 64 octets and no DER has the wrong length`(_ count: Int) {
        let octets = [UInt8](repeating: 0x55, count: count)
        #expect(fault(TestDevice.base64(octets)) == .signatureLength)
        #expect(fault(TestDevice.base64URL(octets)) == .signatureLength)
        #expect(fault("v2." + TestDevice.base64URL(octets)) == .signatureLength)
    }

    @Test func `S12 r and s out of range are told from a wrong signature`() throws {
        let order = "ffffffff00000000ffffffffffffffffbce6faada7179e84f3b9cac2fc632551"
        let zero = String(repeating: "00", count: 32)
        let one = String(repeating: "00", count: 31) + "01"
        let over = String(repeating: "ff", count: 32)
        for bad in [zero, order, over] {
            for octets in [bad + one, one + bad, bad + bad] {
                #expect(fault(TestDevice.base64(Vectors.hex(octets))) == .signatureRange)
                #expect(fault("v2." + TestDevice.base64URL(Vectors.hex(octets))) == .signatureRange)
            }
        }
        #expect(reason(TestDevice.base64(Vectors.hex(one + one))) == .signatureInvalid)
        #expect(reason("v2." + TestDevice.base64URL(Vectors.hex(one + one))) == .signatureBinding)
        #expect(fault(TestDevice.base64(Vectors.hex("3006020100020101"))) == .signatureRange)
    }

    @Test func `S13 S14 another key or body does not verify`() throws {
        let value = try harness.device.signDER(body)
        #expect(reason(value) == nil)
        #expect(reason(value, device: try TestDevice()) == .signatureInvalid)
        for other in [
            "{\"u\":\"a\",\"p\":\"b\"} ", "{\"p\":\"b\",\"u\":\"a\"}", "{\"u\":\"a\",\"p\":\"b\"}\n", "", "{}",
        ] {
            #expect(reason(value, body: Array(other.utf8)) == .signatureInvalid)
        }
    }

    @Test func `S15 an empty body is signed as the empty string`() throws {
        #expect(reason(try harness.device.signDER([]), body: []) == nil)
        #expect(reason(try harness.device.signDER(body), body: []) == .signatureInvalid)
    }

    @Test func `S22 S23 v1 moves to another token and path, v2 does not`() throws {
        let first = Array("token.one.x".utf8)
        let second = Array("token.two.x".utf8)
        let transfer = SignedRequest(method: login.method, authority: login.authority, target: Array("/transfer".utf8))
        let v1 = try harness.device.signDER(body)
        #expect(reason(v1, token: second) == nil)
        #expect(reason(v1, request: transfer, token: second) == nil)
        let v2 = try harness.device.signBound(
            method: "POST", authority: "api.test", target: "/api/v1/login", token: first, body: body)
        #expect(reason(v2, token: first) == nil)
        #expect(reason(v2, token: second) == .signatureBinding)
        #expect(reason(v2, request: transfer, token: first) == .signatureBinding)
        #expect(reason(v2, body: body + [0x0A], token: first) == .signatureBinding)
        #expect(reason(v2, token: first, device: try TestDevice()) == .signatureBinding)
        var request = login
        request.method = Array("PUT".utf8)
        #expect(reason(v2, request: request, token: first) == .signatureBinding)
        request = login
        request.authority = Array("evil.test".utf8)
        #expect(reason(v2, request: request, token: first) == .signatureBinding)
        request.authority = Array("API.Test".utf8)
        #expect(reason(v2, request: request, token: first) == nil)
        request = login
        request.target = Array("/api/v1/login?x=1".utf8)
        #expect(reason(v2, request: request, token: first) == .signatureBinding)
        // The bare signature of a v2 value is none of the body, and the other way round.
        #expect(reason(String(v2.dropFirst(3)), token: first) == .signatureInvalid)
        #expect(reason("v2." + TestDevice.base64URL(try harness.device.sign(body))) == .signatureBinding)
    }

    @Test func `S24 a value has 160 characters at most`() {
        #expect(fault(String(repeating: "A", count: 161)) == .signatureTooLong)
        #expect(fault(String(repeating: "A", count: 10_240)) == .signatureTooLong)
        #expect(fault(String(repeating: "A", count: 160)) == .signatureFormat)
    }

    @Test func `a profile that the route does not accept is refused`() throws {
        let token = Array("t".utf8)
        let v1 = try harness.device.signDER(body)
        let v2 = try harness.device.signBound(method: "GET", authority: "a", target: "/", token: token, body: [])
        #expect(fault(v1, [.v1]) == nil && fault(v2, [.v2]) == nil)
        #expect(fault(v1, [.v2]) == .signatureProfile)
        #expect(fault(v2, [.v1]) == .signatureProfile)
        #expect(fault(v1, []) == .signatureProfile)
    }

    @Test(arguments: ["v2.", "V2.AAAA", "v2", "v3.AAAA", "v2.AA=="])
    func `a v2 value of another form is refused`(_ value: String) {
        #expect([.signatureBase64, .signatureLength].contains(fault(value)))
    }

    @Test func `v2 takes no DER and no padding`() throws {
        let raw = try harness.device.sign(body)
        let der = try #require(ECDSASignature.encodeDER(raw))
        #expect(fault("v2." + TestDevice.base64URL(der)) == .signatureLength)
        #expect(fault("v2." + TestDevice.base64(raw)) == .signatureBase64)
    }

    @Test func `the v2 base is the six lines of the protocol`() {
        let request = SignedRequest(
            method: Array("POST".utf8), authority: Array("API.test:8443".utf8), target: Array("/Login?A=b".utf8))
        let base = SignatureBase.v2(request, token: Array("abc".utf8), bodyDigest: SHA256.digest([]))
        let lines = String(decoding: base, as: UTF8.self).split(separator: "\n", omittingEmptySubsequences: false)
        #expect(
            lines == [
                "hid-request-v2", "POST", "api.test:8443", "/Login?A=b", "ungWv48Bz-pBQUDeXa4iI7ADYaOWF3qctBD_YfIAFa0",
                "47DEQpj8HBSa-_TImW-5JCeuQeRkm5NMpJWZG3hSuFU",
            ])
    }

    @Test func `no flipped bit of a signature value is accepted`() throws {
        let values = [
            try harness.device.signDER(body), TestDevice.base64URL(try harness.device.sign(body)),
            try harness.device.signBound(
                method: "POST", authority: "api.test", target: "/api/v1/login", token: [0x74], body: body),
        ]
        for value in values {
            let bytes = Array(value.utf8)
            for bit in 0..<bytes.count * 8 {
                var flipped = bytes
                flipped[bit / 8] ^= 1 << (bit % 8)
                guard case .success(let header) = SignatureHeader.parse(flipped, accepting: [.v1, .v2]) else {
                    continue
                }
                let reason = verifier.verify(
                    header, bodyDigest: SHA256.digest(body), request: login, token: [0x74],
                    deviceKey: harness.device.key.publicKey.point)
                #expect(reason != nil)
            }
        }
    }

    private struct ECDSAFile: Decodable {
        struct Group: Decodable {
            struct Key: Decodable {
                let uncompressed: String
            }
            struct Case: Decodable {
                let tcId: Int
                let msg: String
                let sig: String
                let result: String
            }
            let publicKey: Key
            let tests: [Case]
        }
        let testGroups: [Group]
    }

    @Test(
        .enabled(if: Vectors.isAvailable, Comment(rawValue: Vectors.missingNote)),
        arguments: ["ecdsa_secp256r1_sha256_test", "ecdsa_secp256r1_sha256_p1363_test"])
    func `S09 S11 S12 Wycheproof signatures come out right as header values`(_ file: String) throws {
        let vectors = try Vectors.json("crypto/\(file).json", as: ECDSAFile.self)
        let names: Set<Reason> = [
            .signatureMissing, .signatureTooLong, .signatureBase64, .signatureFormat, .signatureLength, .signatureDER,
            .signatureRange, .signatureInvalid,
        ]
        for group in vectors.testGroups {
            let key = Vectors.hex(group.publicKey.uncompressed)
            for test in group.tests {
                let digest = SHA256.digest(Vectors.hex(test.msg))
                for value in [TestDevice.base64(Vectors.hex(test.sig)), TestDevice.base64URL(Vectors.hex(test.sig))] {
                    var reason: Reason?
                    switch parse(value) {
                    case .failure(let fault): reason = fault
                    case .success(let header):
                        reason = verifier.verify(
                            header, bodyDigest: digest, request: login, token: [], deviceKey: key)
                    }
                    #expect((reason == nil) == (test.result == "valid"), "\(test.tcId)")
                    if let reason { #expect(names.contains(reason)) }
                }
            }
        }
    }
}
