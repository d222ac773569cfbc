// SPDX-License-Identifier: Apache-2.0
import COpenSSL

extension Certificate {
    /// Whether the key of `issuer` signed this certificate.
    package func isSigned(byKeyOf issuer: Certificate) -> Bool {
        isSigned(bySubjectPublicKeyInfo: issuer.subjectPublicKeyInfo, kind: issuer.keyKind)
    }

    /// Whether the key of a SubjectPublicKeyInfo signed this certificate.
    ///
    /// False also for an algorithm that is not supported, or that does not fit the kind and size of the key. One
    /// link is checked here, and nothing else: neither names, dates nor constraints. About 0.1 ms, for P-384 1 ms.
    package func isSigned(bySubjectPublicKeyInfo der: [UInt8]) -> Bool {
        guard let kind = try? PublicKeyKind(subjectPublicKeyInfo: der) else { return false }
        return isSigned(bySubjectPublicKeyInfo: der, kind: kind)
    }

    private func isSigned(bySubjectPublicKeyInfo der: [UInt8], kind: PublicKeyKind) -> Bool {
        guard let algorithm = signatureAlgorithm, algorithm.fits(kind) else { return false }
        return LinkSignature.verify(
            message: self.der.span.extracting(tbsRange), signature: signature, algorithm: algorithm,
            subjectPublicKeyInfo: der, kind: kind)
    }
}

/// Signatures over any message by keys that certificates hold: CMS of App Attest receipts needs them as well.
package enum LinkSignature {
    /// Verifies a signature; ECDSA in DER, RSA with PKCS#1 v1.5 padding.
    ///
    /// - Returns: false for anything but a valid signature by a key that fits the algorithm.
    package static func verify(
        message: Span<UInt8>, signature: [UInt8], algorithm: SignatureAlgorithm, subjectPublicKeyInfo der: [UInt8]
    ) -> Bool {
        guard let kind = try? PublicKeyKind(subjectPublicKeyInfo: der) else { return false }
        return verify(
            message: message, signature: signature, algorithm: algorithm, subjectPublicKeyInfo: der, kind: kind)
    }

    static func verify(
        message: Span<UInt8>, signature: [UInt8], algorithm: SignatureAlgorithm, subjectPublicKeyInfo der: [UInt8],
        kind: PublicKeyKind
    ) -> Bool {
        guard algorithm.fits(kind) else { return false }
        if kind == .p256, algorithm == .ecdsaSHA256 {
            return verifyP256(message: message, signature: signature, subjectPublicKeyInfo: der)
        }
        if kind == .p384 {
            guard let key = P384Key(point: der.suffix(P384Key.pointSize)) else { return false }
            return key.verify(message: message, signature: signature, hash: algorithm)
        }
        guard let key = VerificationKey(subjectPublicKeyInfo: der, kind: kind) else { return false }
        return key.verify(message: message, signature: signature, algorithm: algorithm)
    }

    /// The usual link, by the code of device signatures: a quarter of the cost of reading the key with OpenSSL.
    private static func verifyP256(
        message: Span<UInt8>, signature: [UInt8], subjectPublicKeyInfo der: [UInt8]
    ) -> Bool {
        guard let raw = try? ECDSASignature.parseDER(signature.span),
            let key = try? P256PublicKey(subjectPublicKeyInfo: der)
        else { return false }
        let digest = SHA256.hash(message)
        return key.verify(digest: digest.span, signature: raw.span)
    }
}

/// An EVP_PKEY read from a SubjectPublicKeyInfo, for one verification.
@safe private final class VerificationKey {
    private let pointer: OpaquePointer  // EVP_PKEY, owned: freed in deinit

    /// Reads the key and asks that OpenSSL sees the same kind and size in it.
    init?(subjectPublicKeyInfo der: [UInt8], kind: PublicKeyKind) {
        OpenSSLErrors.clear()
        var consumed = 0
        let read = unsafe der.withUnsafeBufferPointer { buffer -> OpaquePointer? in
            guard let base = buffer.baseAddress, let size = Int(exactly: buffer.count) else { return nil }
            var cursor: UnsafePointer<UInt8>? = unsafe base
            let key = unsafe d2i_PUBKEY(nil, &cursor, size)
            if let cursor = unsafe cursor { consumed = unsafe cursor - base }
            return unsafe key
        }
        guard let read = unsafe read else {
            OpenSSLErrors.clear()
            return nil
        }
        unsafe pointer = read
        guard consumed == der.count else { return nil }
        let (type, bits) = unsafe (EVP_PKEY_get_base_id(read), EVP_PKEY_get_bits(read))
        let isAsSeen =
            switch kind {
            case .p256: type == EVP_PKEY_EC && bits == 256
            case .rsa(let size): type == EVP_PKEY_RSA && Int(bits) == size
            case .p384, .other: false
            }
        guard isAsSeen else { return nil }
    }

    deinit { unsafe EVP_PKEY_free(pointer) }

    /// Only the result 1 of OpenSSL counts as valid.
    func verify(message: Span<UInt8>, signature: [UInt8], algorithm: SignatureAlgorithm) -> Bool {
        OpenSSLErrors.clear()
        guard let context = unsafe EVP_MD_CTX_new() else { return false }
        defer { unsafe EVP_MD_CTX_free(context) }
        let digest =
            switch algorithm {
            case .ecdsaSHA256, .rsaSHA256: unsafe EVP_sha256()
            case .ecdsaSHA384, .rsaSHA384: unsafe EVP_sha384()
            case .rsaSHA512: unsafe EVP_sha512()
            }
        guard unsafe EVP_DigestVerifyInit(context, nil, digest, nil, pointer) == 1 else {
            OpenSSLErrors.clear()
            return false
        }
        let result = unsafe message.withUnsafeBufferPointer { text in
            unsafe EVP_DigestVerify(context, signature, signature.count, text.baseAddress, text.count)
        }
        if result != 1 { OpenSSLErrors.clear() }
        return result == 1
    }
}
