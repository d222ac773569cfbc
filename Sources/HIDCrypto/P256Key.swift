// SPDX-License-Identifier: Apache-2.0
import COpenSSL

/// An EC_KEY on P-256 and the scratch signature that verification needs; the wrapper of both C objects.
///
/// Not Sendable: whoever owns one decides whether it is only read or used by one thread.
@safe final class P256Key {
    let pointer: OpaquePointer  // EC_KEY, owned: freed in deinit

    /// Makes a key on the curve with no numbers in it.
    init() throws(CryptoError) {
        OpenSSLErrors.clear()
        guard let made = unsafe EC_KEY_new_by_curve_name(NID_X9_62_prime256v1) else {
            throw .operationFailed("new key", openSSL: OpenSSLErrors.drain())
        }
        unsafe pointer = made
    }

    /// Takes over a key that OpenSSL made; it is freed here from now on.
    ///
    /// - Throws: `malformedKey` when it is on another curve.
    init(adopting key: OpaquePointer) throws(CryptoError) {
        unsafe pointer = key
        guard let group = unsafe EC_KEY_get0_group(key),
            unsafe EC_GROUP_get_curve_name(group) == NID_X9_62_prime256v1
        else { throw .malformedKey(openSSL: "the key is not on the named curve P-256") }
    }

    deinit { unsafe EC_KEY_free(pointer) }

    /// Replaces the public point: 65 octets, uncompressed, checked to be on the curve (1.1 us).
    func setPoint(_ bytes: Span<UInt8>) -> Bool {
        guard bytes.count == 65, bytes[0] == 0x04 else { return false }
        return unsafe bytes.withUnsafeBufferPointer { buffer in
            unsafe EC_KEY_oct2key(pointer, buffer.baseAddress, buffer.count, nil) == 1
        }
    }

    /// The public point, uncompressed.
    func point() throws(CryptoError) -> [UInt8] {
        OpenSSLErrors.clear()
        var output = [UInt8](repeating: 0, count: 65)
        let written = unsafe output.withUnsafeMutableBufferPointer { buffer in
            guard let group = unsafe EC_KEY_get0_group(pointer),
                let point = unsafe EC_KEY_get0_public_key(pointer)
            else { return 0 }
            return unsafe EC_POINT_point2oct(
                group, point, POINT_CONVERSION_UNCOMPRESSED, buffer.baseAddress, buffer.count, nil)
        }
        guard written == 65 else { throw .malformedKey(openSSL: OpenSSLErrors.drain()) }
        return output
    }
}

/// A reusable ECDSA_SIG whose two numbers are overwritten in place.
@safe final class SignatureScratch {
    private let signature: OpaquePointer  // ECDSA_SIG, owned: freed in deinit, and r and s with it
    private let r: OpaquePointer  // BIGNUM, owned by signature
    private let s: OpaquePointer  // BIGNUM, owned by signature

    init() throws(CryptoError) {
        OpenSSLErrors.clear()
        let (made, first, second) = unsafe (ECDSA_SIG_new(), BN_new(), BN_new())
        guard let made = unsafe made, let first = unsafe first, let second = unsafe second,
            unsafe ECDSA_SIG_set0(made, first, second) == 1
        else {
            unsafe ECDSA_SIG_free(made)
            unsafe BN_free(first)
            unsafe BN_free(second)
            throw .operationFailed("new signature", openSSL: OpenSSLErrors.drain())
        }
        unsafe (signature, r, s) = (made, first, second)
    }

    deinit { unsafe ECDSA_SIG_free(signature) }

    /// Verifies 64 octets r then s over a 32-octet digest; only the result 1 of OpenSSL counts as valid.
    func verify(digest: Span<UInt8>, signature raw: Span<UInt8>, key: P256Key) -> Bool {
        guard digest.count == 32, ECDSASignature.fault(ofRaw: raw) == nil else { return false }
        let loaded = unsafe raw.withUnsafeBufferPointer { buffer in
            guard let base = buffer.baseAddress else { return false }
            return unsafe BN_bin2bn(base, 32, r) != nil && BN_bin2bn(base + 32, 32, s) != nil
        }
        guard loaded else { return false }
        let result = unsafe digest.withUnsafeBufferPointer { buffer in
            unsafe ECDSA_do_verify(buffer.baseAddress, 32, signature, key.pointer)
        }
        if result != 1 { OpenSSLErrors.clear() }
        return result == 1
    }
}
