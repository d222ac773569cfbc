// SPDX-License-Identifier: Apache-2.0
internal import COpenSSL
package import HIDCrypto

/// A key pair of any kind that certificates may have, made for a test; never mutated after `init`.
@safe package final class TestSigningKey: @unchecked Sendable {
    /// What can be made.
    package enum Kind: Sendable, Hashable {
        case p256
        case p384
        case p521
        case rsa(bits: Int)
    }

    /// OpenSSL refused.
    package struct Failure: Error {}

    /// DER of the SubjectPublicKeyInfo.
    package let subjectPublicKeyInfo: [UInt8]
    package let kind: Kind
    private let pointer: OpaquePointer  // EVP_PKEY, owned: freed in deinit

    /// Generates a pair; RSA takes 0.1 s and more, so share one.
    package init(_ kind: Kind = .p256) throws {
        guard let made = unsafe Self.generate(kind) else { throw Failure() }
        unsafe pointer = made
        self.kind = kind
        subjectPublicKeyInfo = unsafe Self.written(made)
        if subjectPublicKeyInfo.isEmpty { throw Failure() }
    }

    deinit { unsafe EVP_PKEY_free(pointer) }

    /// The algorithm that such a key signs with when nothing is said.
    package var usualAlgorithm: SignatureAlgorithm {
        switch kind {
        case .p256: .ecdsaSHA256
        case .p384, .p521: .ecdsaSHA384
        case .rsa: .rsaSHA256
        }
    }

    /// Signs a message: ECDSA in DER, RSA with PKCS#1 v1.5 padding.
    package func sign(_ message: [UInt8], _ algorithm: SignatureAlgorithm) throws -> [UInt8] {
        guard let context = unsafe EVP_MD_CTX_new() else { throw Failure() }
        defer { unsafe EVP_MD_CTX_free(context) }
        let digest =
            switch algorithm {
            case .ecdsaSHA256, .rsaSHA256: unsafe EVP_sha256()
            case .ecdsaSHA384, .rsaSHA384: unsafe EVP_sha384()
            case .rsaSHA512: unsafe EVP_sha512()
            }
        var size = 1024
        var output = [UInt8](repeating: 0, count: size)
        guard unsafe EVP_DigestSignInit(context, nil, digest, nil, pointer) == 1,
            unsafe EVP_DigestSign(context, &output, &size, message, message.count) == 1
        else { throw Failure() }
        return Array(output.prefix(size))
    }

    /// The pair in PEM, PKCS#8 without a password.
    package func pem() throws -> [UInt8] {
        guard let bio = unsafe BIO_new(BIO_s_mem()) else { throw Failure() }
        defer { unsafe BIO_free(bio) }
        guard unsafe PEM_write_bio_PKCS8PrivateKey(bio, pointer, nil, nil, 0, nil, nil) == 1 else { throw Failure() }
        var output = [UInt8](repeating: 0, count: 8192)
        let count = unsafe BIO_read(bio, &output, 8192)
        guard count > 0 else { throw Failure() }
        return Array(output.prefix(Int(count)))
    }

    private static func generate(_ kind: Kind) -> OpaquePointer? {
        let type = if case .rsa = kind { EVP_PKEY_RSA } else { EVP_PKEY_EC }
        guard let context = unsafe EVP_PKEY_CTX_new_id(type, nil) else { return nil }
        defer { unsafe EVP_PKEY_CTX_free(context) }
        guard unsafe EVP_PKEY_keygen_init(context) == 1 else { return nil }
        let isSet =
            switch kind {
            case .p256: unsafe EVP_PKEY_CTX_set_ec_paramgen_curve_nid(context, NID_X9_62_prime256v1)
            case .p384: unsafe EVP_PKEY_CTX_set_ec_paramgen_curve_nid(context, NID_secp384r1)
            case .p521: unsafe EVP_PKEY_CTX_set_ec_paramgen_curve_nid(context, NID_secp521r1)
            case .rsa(let bits): unsafe EVP_PKEY_CTX_set_rsa_keygen_bits(context, Int32(bits))
            }
        var made: OpaquePointer?
        guard isSet == 1, unsafe EVP_PKEY_keygen(context, &made) == 1 else { return nil }
        return unsafe made
    }

    private static func written(_ key: OpaquePointer) -> [UInt8] {
        let size = unsafe i2d_PUBKEY(key, nil)
        guard size > 0 else { return [] }
        var output = [UInt8](repeating: 0, count: Int(size))
        unsafe output.withUnsafeMutableBufferPointer { buffer in
            var cursor = buffer.baseAddress
            _ = unsafe i2d_PUBKEY(key, &cursor)
        }
        return output
    }
}
