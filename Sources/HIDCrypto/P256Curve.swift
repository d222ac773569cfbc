// SPDX-License-Identifier: Apache-2.0
import COpenSSL

/// Facts of the curve P-256 (FIPS 186-5, SEC 2 secp256r1).
package enum P256Curve {
    /// DER of a SubjectPublicKeyInfo up to the point: id-ecPublicKey, named curve prime256v1, BIT STRING header.
    package static let subjectPublicKeyInfoPrefix: [UInt8] = [
        0x30, 0x59, 0x30, 0x13, 0x06, 0x07, 0x2A, 0x86, 0x48, 0xCE, 0x3D, 0x02, 0x01,
        0x06, 0x08, 0x2A, 0x86, 0x48, 0xCE, 0x3D, 0x03, 0x01, 0x07, 0x03, 0x42, 0x00,
    ]

    /// The order n of the group, most significant word first.
    private static let order: (UInt64, UInt64, UInt64, UInt64) = (
        0xFFFF_FFFF_0000_0000, 0xFFFF_FFFF_FFFF_FFFF, 0xBCE6_FAAD_A717_9E84, 0xF3B9_CAC2_FC63_2551
    )

    /// Whether 32 big-endian octets are positive and below n.
    package static func isScalar(_ bytes: Span<UInt8>) -> Bool {
        guard bytes.count == 32 else { return false }
        let value = (word(bytes, 0), word(bytes, 8), word(bytes, 16), word(bytes, 24))
        guard value.0 | value.1 | value.2 | value.3 != 0 else { return false }
        return value < order
    }

    /// Whether 65 octets are an uncompressed point on the curve (SEC 1 section 2.3.4); costs about a microsecond.
    package static func isPoint(_ bytes: Span<UInt8>) -> Bool {
        guard bytes.count == 65, bytes[0] == 0x04, let group = SharedGroup.instance else { return false }
        return group.contains(bytes)
    }

    /// RFC 7638 thumbprint of the JWK with this uncompressed point: 43 base64url octets.
    package static func thumbprint(ofPoint point: Span<UInt8>) -> [UInt8]? {
        guard point.count == 65 else { return nil }
        var json = Array(#"{"crv":"P-256","kty":"EC","x":""#.utf8)
        Base64URL.encode(point.extracting(1..<33), appendingTo: &json)
        json.append(contentsOf: #"","y":""#.utf8)
        Base64URL.encode(point.extracting(33..<65), appendingTo: &json)
        json.append(contentsOf: #""}"#.utf8)
        let digest = SHA256.hash(json.span)
        return Base64URL.encode(digest.span)
    }

    private static func word(_ bytes: Span<UInt8>, _ offset: Int) -> UInt64 {
        var value: UInt64 = 0
        for index in offset..<offset + 8 { value = value << 8 | UInt64(bytes[index]) }
        return value
    }
}

/// One EC_GROUP for point checks, never changed after it is made, so that any thread may read it.
@safe private final class SharedGroup: @unchecked Sendable {
    static let instance = SharedGroup()

    private let group: OpaquePointer  // EC_GROUP, owned: freed in deinit

    private init?() {
        guard let made = unsafe EC_GROUP_new_by_curve_name(NID_X9_62_prime256v1) else { return nil }
        unsafe group = made
    }

    deinit { unsafe EC_GROUP_free(group) }

    /// EC_POINT_oct2point refuses coordinates not below p and points off the curve.
    func contains(_ bytes: Span<UInt8>) -> Bool {
        guard let point = unsafe EC_POINT_new(group) else { return false }
        defer { unsafe EC_POINT_free(point) }
        let result = unsafe bytes.withUnsafeBufferPointer { buffer in
            unsafe EC_POINT_oct2point(group, point, buffer.baseAddress, buffer.count, nil)
        }
        if result != 1 { OpenSSLErrors.clear() }
        return result == 1
    }
}
