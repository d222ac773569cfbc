// SPDX-License-Identifier: Apache-2.0
import FoundationEssentials
import HIDCrypto
import HIDTesting
import Testing

@Suite struct P256Tests {
    private let digest = SHA256.digest(Array("message".utf8))

    /// Random signatures a key; set HIDGATE_ROUNDS=250000 for the long run before a release.
    private static let rounds = ProcessInfo.processInfo.environment["HIDGATE_ROUNDS"].flatMap { Int($0) } ?? 500

    /// n and n-1 as 32 octets.
    private let order = Vectors.hex("ffffffff00000000ffffffffffffffffbce6faada7179e84f3b9cac2fc632551")
    private let orderLessOne = Vectors.hex("ffffffff00000000ffffffffffffffffbce6faada7179e84f3b9cac2fc632550")

    @Test func `a signature verifies in all forms and only for its digest and key`() throws {
        let key = try P256PrivateKey()
        let other = try P256PrivateKey()
        let verifier = try P256Verifier()
        for _ in 0..<50 {
            let raw = try key.sign(digest: digest)
            #expect(key.publicKey.verify(digest: digest, signature: raw))
            #expect(!other.publicKey.verify(digest: digest, signature: raw))
            #expect(verifier.verify(digest: digest, signature: raw, point: key.publicKey.point) == .valid)
            let wrong = verifier.verify(digest: digest, signature: raw, point: other.publicKey.point)
            #expect(wrong == .invalid)
            let der = try key.signDER(digest: digest)
            let converted = try ECDSASignature.parseDER(der)
            #expect(key.publicKey.verify(digest: digest, signature: converted))
        }
    }

    @Test func `a table agrees with plain verification on right and wrong signatures`() throws {
        for _ in 0..<4 {
            let key = try P256PrivateKey()
            let fixed = try P256PublicKey(point: key.publicKey.point, precomputing: true)
            #expect(fixed.isPrecomputed && !key.publicKey.isPrecomputed)
            for round in 0..<Self.rounds {
                let digest = try SecureRandom.bytes(32)
                var raw = try key.sign(digest: digest)
                #expect(fixed.verify(digest: digest, signature: raw))
                raw[round % 64] ^= 1 << (round % 8)
                #expect(!fixed.verify(digest: digest, signature: raw))
                let random = try SecureRandom.bytes(64)
                #expect(!fixed.verify(digest: digest, signature: random))
            }
        }
    }

    @Test(arguments: [false, true])
    func `a key may be used by many threads at once`(_ precomputing: Bool) async throws {
        let key = try P256PrivateKey()
        let shared = try P256PublicKey(point: key.publicKey.point, precomputing: precomputing)
        let digest = self.digest
        let results = try await withThrowingTaskGroup(of: Bool.self) { group in
            for _ in 0..<8 {
                group.addTask {
                    try (0..<100).allSatisfy { _ in
                        shared.verify(digest: digest, signature: try key.sign(digest: digest))
                    }
                }
            }
            return try await group.reduce(into: []) { $0.append($1) }
        }
        #expect(results == [Bool](repeating: true, count: 8))
    }

    @Test func `a table takes extreme digests and refuses extreme numbers`() throws {
        let key = try P256PrivateKey()
        let fixed = try P256PublicKey(point: key.publicKey.point, precomputing: true)
        let zero = [UInt8](repeating: 0, count: 32)
        let one = [UInt8](repeating: 0, count: 31) + [1]
        for digest in [zero, one, order, orderLessOne, zero.map { ~$0 }] {
            let raw = try key.sign(digest: digest)
            #expect(fixed.verify(digest: digest, signature: raw))
            for raw in [zero + zero, one + one, one + orderLessOne, order + one, orderLessOne + orderLessOne] {
                #expect(
                    fixed.verify(digest: digest, signature: raw) == key.publicKey.verify(digest: digest, signature: raw)
                )
            }
        }
        #expect(!fixed.verify(digest: [1], signature: [2]))
        // The generator itself and its negative as keys: both tables then hold the same points.
        for scalar in [one, orderLessOne] {
            let special = try P256PrivateKey(scalar: scalar)
            let table = try P256PublicKey(point: special.publicKey.point, precomputing: true)
            #expect(table.isPrecomputed)
            for _ in 0..<50 {
                let digest = try SecureRandom.bytes(32)
                let raw = try special.sign(digest: digest)
                #expect(table.verify(digest: digest, signature: raw))
            }
        }
    }

    @Test func `every flipped bit of a signature or digest is noticed`() throws {
        let key = try P256PrivateKey()
        let raw = try key.sign(digest: digest)
        for bit in 0..<512 {
            var flipped = raw
            flipped[bit / 8] ^= 1 << (bit % 8)
            #expect(!key.publicKey.verify(digest: digest, signature: flipped))
        }
        for bit in 0..<256 {
            var flipped = digest
            flipped[bit / 8] ^= 1 << (bit % 8)
            #expect(!key.publicKey.verify(digest: flipped, signature: raw))
        }
    }

    @Test func `r and s of 0 and n are out of range, 1 and n-1 are only wrong`() throws {
        let key = try P256PrivateKey()
        let zero = [UInt8](repeating: 0, count: 32)
        let one = [UInt8](repeating: 0, count: 31) + [1]
        let over = Vectors.hex(String(repeating: "f", count: 64))
        let values = [(zero, false), (one, true), (orderLessOne, true), (order, false), (over, false)]
        for (r, isGoodR) in values {
            for (s, isGoodS) in values {
                let raw = r + s
                #expect(ECDSASignature.fault(ofRaw: raw) == (isGoodR && isGoodS ? nil : .range))
                #expect(!key.publicKey.verify(digest: digest, signature: raw))
            }
        }
    }

    @Test(arguments: [0, 1, 63, 65, 96, 128])
    func `a signature of another length is a length fault`(_ count: Int) throws {
        let raw = [UInt8](repeating: 1, count: count)
        #expect(ECDSASignature.fault(ofRaw: raw) == .length)
        #expect(try !P256PrivateKey().publicKey.verify(digest: digest, signature: raw))
    }

    @Test(arguments: [
        ("3006020101020101", ECDSASignatureFault?.none), ("3006020100020101", .range), ("3006020101020100", .range),
        ("3081060201010201010", .der), ("30080201010201010000", .der), ("300602010102010100", .der),
        ("30060201810201ff", .der), ("300702020001020101", .der), ("3006030101020101", .der),
        ("3106020101020101", .der),
        ("30050201010200", .der), ("3080020101020101 0000", .der), ("", .der), ("30", .der), ("3000", .der),
        ("3003020101", .der), ("30060201010201", .der),
    ])
    func `DER has one form`(_ hex: String, _ expected: ECDSASignatureFault?) {
        let bytes = Vectors.hex(hex.filter { $0 != " " })
        do throws(ECDSASignatureFault) {
            _ = try ECDSASignature.parseDER(bytes)
            #expect(expected == nil)
        } catch {
            #expect(error == expected)
        }
    }

    @Test func `a 33-octet number is out of range and not cut`() {
        let body = [0x02, 0x22, 0x01] + [UInt8](repeating: 0, count: 33) + [0x02, 0x01, 0x01]
        let der: [UInt8] = [0x30, UInt8(body.count)] + body
        #expect(throws: ECDSASignatureFault.range) { try ECDSASignature.parseDER(der) }
    }

    @Test func `keys that are no point on the curve are refused`() throws {
        let good = try P256PrivateKey().publicKey
        var offCurve = good.point
        offCurve[64] ^= 1
        let field = Vectors.hex("ffffffff00000001000000000000000000000000ffffffffffffffffffffffff")
        let bad: [[UInt8]] = [
            [], [0x00], [0x04], offCurve, Array(good.point.dropLast()), good.point + [0],
            [0x02] + good.x, [0x06] + good.point.dropFirst(), [0x04] + [UInt8](repeating: 0, count: 64),
            [0x04] + field + good.y,
        ]
        let verifier = try P256Verifier()
        let raw = [UInt8](repeating: 1, count: 64)
        for point in bad {
            #expect(throws: CryptoError.self) { try P256PublicKey(point: point) }
            #expect(!P256Curve.isPoint(point))
            #expect(verifier.verify(digest: digest, signature: raw, point: point) == .malformedKey)
        }
        #expect(P256Curve.isPoint(good.point))
        #expect(throws: CryptoError.self) { try P256PublicKey(x: Array(good.x.dropLast()), y: good.y) }
        var info = good.subjectPublicKeyInfo
        info[20] ^= 1
        #expect(throws: CryptoError.self) { try P256PublicKey(subjectPublicKeyInfo: info) }
        #expect(throws: CryptoError.self) { try P256PublicKey(subjectPublicKeyInfo: good.subjectPublicKeyInfo + [0]) }
    }

    @Test func `a refused key tells in the library's words why`() {
        #expect {
            try P256PublicKey(point: [0x04] + [UInt8](repeating: 7, count: 64))
        } throws: { error in
            "\(error)".contains("point is not on curve")
        }
    }

    @Test func `private keys survive PEM and come from scalars`() throws {
        let key = try P256PrivateKey()
        let pem = try key.pem()
        #expect(pem.starts(with: "-----BEGIN PRIVATE KEY-----\n".utf8))
        let read = try P256PrivateKey(pem: pem)
        #expect(read.publicKey.point == key.publicKey.point)
        let raw = try read.sign(digest: digest)
        #expect(key.publicKey.verify(digest: digest, signature: raw))

        let one = try P256PrivateKey(scalar: [UInt8](repeating: 0, count: 31) + [1])
        let base = "6b17d1f2e12c4247f8bce6e563a440f277037d812deb33a0f4a13945d898c296"
        #expect(one.publicKey.x == Vectors.hex(base))
    }

    @Test func `bad private keys are refused`() throws {
        #expect(throws: CryptoError.self) { try P256PrivateKey(scalar: [UInt8](repeating: 0, count: 32)) }
        #expect(throws: CryptoError.self) { try P256PrivateKey(scalar: order) }
        #expect(throws: CryptoError.self) { try P256PrivateKey(scalar: [1]) }
        #expect(throws: CryptoError.self) { try P256PrivateKey(pem: []) }
        #expect(throws: CryptoError.self) { try P256PrivateKey(pem: Array("-----BEGIN PRIVATE KEY-----".utf8)) }
        #expect(throws: CryptoError.self) { try P256PrivateKey().sign(digest: [1, 2, 3]) }
    }

    private struct RFCFile: Decodable {
        struct Vector: Decodable {
            struct Key: Decodable {
                let x: String
                let y: String
            }
            struct Digest: Decodable {
                let body: String
                let content_digest: String
            }
            let id: String
            let jwk: Key?
            let jws: String?
            let thumbprint: String?
            let signature_base: String?
            let signature_b64: String?
            let vectors: [Digest]?
        }
        let vectors: [Vector]
    }

    @Test(.enabled(if: Vectors.isAvailable, Comment(rawValue: Vectors.missingNote)))
    func `the values of the RFCs verify`() throws {
        let file = try Vectors.json("crypto/rfc_vectors.json", as: RFCFile.self)
        var checks = 0
        for vector in file.vectors {
            for digest in vector.vectors ?? [] {
                let value = SHA256.digest(Array(digest.body.utf8))
                #expect(digest.content_digest == "sha-256=:\(TestDevice.base64(value)):")
                checks += 1
            }
            guard let jwk = vector.jwk else { continue }
            let x = try #require(Base64URL.decode(Array(jwk.x.utf8)))
            let y = try #require(Base64URL.decode(Array(jwk.y.utf8)))
            let key = try P256PublicKey(x: x, y: y)
            #expect(String(decoding: key.thumbprint, as: UTF8.self) == vector.thumbprint)
            let base: [UInt8]
            let signature: [UInt8]
            if let jws = vector.jws {
                let parts = jws.split(separator: ".")
                base = Array((parts[0] + "." + parts[1]).utf8)
                signature = try #require(Base64URL.decode(Array(parts[2].utf8)))
            } else {
                base = try Array(#require(vector.signature_base).utf8)
                let text = try #require(vector.signature_b64)
                signature = try #require(Base64.decode(Array(text.utf8)))
            }
            let value = SHA256.digest(base)
            #expect(key.verify(digest: value, signature: signature), "\(vector.id)")
            checks += 1
        }
        #expect(checks == 6)
    }
}
