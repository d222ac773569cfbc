// SPDX-License-Identifier: Apache-2.0
import COpenSSL

/// A P-256 key pair for signing; never mutated after `init`.
///
/// OpenSSL only reads the key while signing, so any thread may call `sign`.
@safe package final class P256PrivateKey: @unchecked Sendable {
    /// The public half.
    package let publicKey: P256PublicKey

    private let key: P256Key

    private init(_ key: P256Key) throws(CryptoError) {
        self.key = key
        publicKey = try P256PublicKey(point: key.point())
    }

    /// Generates a new pair.
    ///
    /// - Throws: `operationFailed` without entropy.
    package convenience init() throws(CryptoError) {
        let made = try P256Key()
        guard unsafe EC_KEY_generate_key(made.pointer) == 1 else {
            throw .operationFailed("generate key", openSSL: OpenSSLErrors.drain())
        }
        try self.init(made)
    }

    /// Makes the pair of a secret scalar of 32 octets.
    ///
    /// - Throws: `malformedKey` when it is not in 1 ... n-1.
    package convenience init(scalar: [UInt8]) throws(CryptoError) {
        guard P256Curve.isScalar(scalar.span) else {
            throw .malformedKey(openSSL: "the secret scalar is not in 1 ... n-1")
        }
        let made = try P256Key()
        guard let number = unsafe BN_bin2bn(scalar, 32, nil) else {
            throw .operationFailed("read scalar", openSSL: OpenSSLErrors.drain())
        }
        defer { unsafe BN_clear_free(number) }
        guard unsafe Self.setPrivate(number, in: made.pointer) else {
            throw .malformedKey(openSSL: OpenSSLErrors.drain())
        }
        try self.init(made)
    }

    /// Reads a private key in PEM: PKCS#8 without a password, or the older `EC PRIVATE KEY`.
    ///
    /// - Throws: `malformedKey` for anything else, encrypted files among them.
    package convenience init(pem: [UInt8]) throws(CryptoError) {
        OpenSSLErrors.clear()
        let read = unsafe pem.withUnsafeBufferPointer { buffer -> OpaquePointer? in
            guard let size = Int32(exactly: buffer.count),
                let bio = unsafe BIO_new_mem_buf(buffer.baseAddress, size)
            else { return nil }
            defer { unsafe BIO_free(bio) }
            // The callback answers "no password", or OpenSSL would ask for one on the terminal.
            return unsafe PEM_read_bio_PrivateKey(bio, nil, { _, _, _, _ in -1 }, nil)
        }
        guard let pair = unsafe read else { throw .malformedKey(openSSL: OpenSSLErrors.drain()) }
        defer { unsafe EVP_PKEY_free(pair) }
        guard let curveKey = unsafe EVP_PKEY_get1_EC_KEY(pair) else {
            throw .malformedKey(openSSL: OpenSSLErrors.drain())
        }
        let adopted = try unsafe P256Key(adopting: curveKey)
        guard unsafe EC_KEY_check_key(adopted.pointer) == 1 else {
            throw .malformedKey(openSSL: OpenSSLErrors.drain())
        }
        try self.init(adopted)
    }

    /// The pair in PEM, PKCS#8 without a password.
    package func pem() throws(CryptoError) -> [UInt8] {
        OpenSSLErrors.clear()
        guard let pair = unsafe EVP_PKEY_new(), let bio = unsafe BIO_new(BIO_s_mem()) else {
            throw .operationFailed("write PEM", openSSL: OpenSSLErrors.drain())
        }
        defer {
            unsafe EVP_PKEY_free(pair)
            unsafe BIO_free(bio)
        }
        guard unsafe EVP_PKEY_set1_EC_KEY(pair, key.pointer) == 1,
            unsafe PEM_write_bio_PKCS8PrivateKey(bio, pair, nil, nil, 0, nil, nil) == 1
        else { throw .operationFailed("write PEM", openSSL: OpenSSLErrors.drain()) }
        var output = [UInt8](repeating: 0, count: 4096)
        let count = unsafe output.withUnsafeMutableBufferPointer { buffer in
            unsafe BIO_read(bio, buffer.baseAddress, 4096)
        }
        guard count > 0 else { throw .operationFailed("write PEM", openSSL: OpenSSLErrors.drain()) }
        return Array(output.prefix(Int(count)))
    }

    /// Signs a 32-octet digest: 64 octets r then s.
    ///
    /// - Throws: `operationFailed` for another digest length or a failure of the library.
    package func sign(digest: Span<UInt8>) throws(CryptoError) -> [UInt8] {
        guard digest.count == 32 else { throw .operationFailed("sign", openSSL: "the digest is not 32 octets") }
        OpenSSLErrors.clear()
        let made = unsafe digest.withUnsafeBufferPointer { buffer in
            unsafe ECDSA_do_sign(buffer.baseAddress, 32, key.pointer)
        }
        guard let signature = unsafe made else { throw .operationFailed("sign", openSSL: OpenSSLErrors.drain()) }
        defer { unsafe ECDSA_SIG_free(signature) }
        var output = [UInt8](repeating: 0, count: 64)
        let written = unsafe output.withUnsafeMutableBufferPointer { buffer in
            guard let base = buffer.baseAddress else { return false }
            return unsafe BN_bn2binpad(ECDSA_SIG_get0_r(signature), base, 32) == 32
                && BN_bn2binpad(ECDSA_SIG_get0_s(signature), base + 32, 32) == 32
        }
        guard written else { throw .operationFailed("sign", openSSL: OpenSSLErrors.drain()) }
        return output
    }

    /// Signs a 32-octet digest in DER.
    ///
    /// - Throws: As `sign(digest:)`.
    package func signDER(digest: Span<UInt8>) throws(CryptoError) -> [UInt8] {
        let raw = try sign(digest: digest)
        guard let der = ECDSASignature.encodeDER(raw.span) else {
            throw .operationFailed("sign", openSSL: "the signature has not 64 octets")
        }
        return der
    }

    private static func setPrivate(_ number: OpaquePointer, in key: OpaquePointer) -> Bool {
        guard let group = unsafe EC_KEY_get0_group(key), let point = unsafe EC_POINT_new(group) else { return false }
        defer { unsafe EC_POINT_free(point) }
        return unsafe EC_KEY_set_private_key(key, number) == 1
            && EC_POINT_mul(group, point, number, nil, nil, nil) == 1
            && EC_KEY_set_public_key(key, point) == 1
    }
}
