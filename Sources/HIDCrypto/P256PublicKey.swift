// SPDX-License-Identifier: Apache-2.0
import COpenSSL

/// A P-256 public key that is used many times, shared by all loops.
///
/// Never mutated after `init`; OpenSSL only reads the key during a verification, so any thread may call `verify`.
package final class P256PublicKey: @unchecked Sendable {
    /// The point in 65 octets: 0x04, x, y.
    package let point: [UInt8]

    private let key: P256Key
    private let fixed: P256FixedKey?

    /// Reads an uncompressed point of 65 octets.
    ///
    /// - Parameters:
    ///   - point: 0x04, x, y.
    ///   - precomputing: Whether to build a table (30 ms, 150 KiB) that halves the cost of each verification.
    /// - Throws: `malformedKey` for another form, coordinates not below p, or a point off the curve.
    package init(point: [UInt8], precomputing: Bool = false) throws(CryptoError) {
        let made = try P256Key()
        OpenSSLErrors.clear()
        guard made.setPoint(point.span) else { throw .malformedKey(openSSL: OpenSSLErrors.drain()) }
        key = made
        fixed = precomputing ? P256FixedKey(point: point, checkedBy: made) : nil
        self.point = point
    }

    /// Whether the table was asked for, built, and agreed with plain verification.
    package var isPrecomputed: Bool { fixed != nil }

    /// Reads the coordinates of 32 octets each.
    ///
    /// - Throws: `malformedKey` for other lengths or a point off the curve.
    package convenience init(x: Span<UInt8>, y: Span<UInt8>) throws(CryptoError) {
        guard x.count == 32, y.count == 32 else {
            throw .malformedKey(openSSL: "coordinates of \(x.count) and \(y.count) octets, not 32")
        }
        var point: [UInt8] = [0x04]
        point.reserveCapacity(65)
        for index in x.indices { point.append(x[index]) }
        for index in y.indices { point.append(y[index]) }
        try self.init(point: point)
    }

    /// Reads a SubjectPublicKeyInfo (RFC 5480 section 2), not a certificate.
    ///
    /// Only the one DER encoding of a named curve with an uncompressed point is accepted; that is what Keystore,
    /// Secure Enclave and every library write.
    ///
    /// - Throws: `malformedKey` for anything else.
    package convenience init(subjectPublicKeyInfo der: [UInt8]) throws(CryptoError) {
        let prefix = P256Curve.subjectPublicKeyInfoPrefix
        guard der.count == prefix.count + 65, der.starts(with: prefix) else {
            throw .malformedKey(openSSL: "not the DER of an uncompressed P-256 SubjectPublicKeyInfo")
        }
        try self.init(point: Array(der[prefix.count...]))
    }

    /// The DER of the SubjectPublicKeyInfo.
    package var subjectPublicKeyInfo: [UInt8] { P256Curve.subjectPublicKeyInfoPrefix + point }

    /// The x coordinate, 32 octets.
    package var x: [UInt8] { Array(point[1..<33]) }

    /// The y coordinate, 32 octets.
    package var y: [UInt8] { Array(point[33..<65]) }

    /// RFC 7638 thumbprint, 43 base64url octets.
    package var thumbprint: [UInt8] {
        let octets = point
        guard let text = P256Curve.thumbprint(ofPoint: octets.span) else { return [] }
        return text
    }

    /// Whether 64 octets r then s are a signature over a 32-octet SHA-256 digest.
    ///
    /// Anything else, of whatever length, is false; ask `ECDSASignature.fault(ofRaw:)` first to tell why.
    package func verify(digest: Span<UInt8>, signature: Span<UInt8>) -> Bool {
        if let fixed { return fixed.verify(digest: digest, signature: signature) }
        guard let scratch = try? SignatureScratch() else { return false }
        return scratch.verify(digest: digest, signature: signature, key: key)
    }
}

/// What a verification with a key that is seen once came to.
package enum P256Verification: Sendable, Equatable {
    case valid
    case invalid
    /// r or s out of range, or not 64 octets.
    case malformedSignature
    /// Not an uncompressed point on the curve.
    case malformedKey
}

/// Verifies signatures of ever-changing keys with C objects that are made once.
///
/// One per event loop; not Sendable, because each call writes the key into the shared object.
package final class P256Verifier {
    private let key: P256Key
    private let scratch: SignatureScratch

    /// Makes the reusable objects.
    ///
    /// - Throws: `operationFailed` when OpenSSL cannot allocate.
    package init() throws(CryptoError) {
        key = try P256Key()
        scratch = try SignatureScratch()
    }

    /// Verifies 64 octets r then s over a 32-octet digest with a 65-octet uncompressed point.
    package func verify(digest: Span<UInt8>, signature: Span<UInt8>, point: Span<UInt8>) -> P256Verification {
        guard ECDSASignature.fault(ofRaw: signature) == nil else { return .malformedSignature }
        guard key.setPoint(point) else {
            OpenSSLErrors.clear()
            return .malformedKey
        }
        return scratch.verify(digest: digest, signature: signature, key: key) ? .valid : .invalid
    }
}
