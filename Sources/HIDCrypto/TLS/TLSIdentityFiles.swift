// SPDX-License-Identifier: Apache-2.0
internal import COpenSSL

/// A private key of any kind as OpenSSL holds it; never mutated after `init`.
@safe final class TLSPrivateKey {
    let pointer: OpaquePointer  // EVP_PKEY, owned: freed in deinit

    /// Reads PEM without a password; nil for anything else.
    init?(pem: [UInt8]) {
        OpenSSLErrors.clear()
        let read = unsafe pem.withUnsafeBufferPointer { buffer -> OpaquePointer? in
            guard let size = Int32(exactly: buffer.count),
                let bio = unsafe BIO_new_mem_buf(buffer.baseAddress, size)
            else { return nil }
            defer { unsafe BIO_free(bio) }
            // The callback answers "no password", or OpenSSL would ask for one on the terminal.
            return unsafe PEM_read_bio_PrivateKey(bio, nil, { _, _, _, _ in -1 }, nil)
        }
        guard let read = unsafe read else { return nil }
        unsafe pointer = read
    }

    deinit { unsafe EVP_PKEY_free(pointer) }
}

/// A chain and its key, read.
struct TLSIdentityFiles {
    let chain: [TLSCertificate]
    let leaf: TLSCertificate
    let key: TLSPrivateKey

    /// Reads both files; `index` is the element of `named`, nil for the default identity.
    init(_ identity: TLSIdentity, index: Int?) throws(TLSContextFault) {
        chain = try Self.certificates(identity.certificates, role: .certificate(index))
        guard let first = chain.first else {
            throw TLSContextFault(.certificate(index), "holds no certificate")
        }
        leaf = first
        guard let key = TLSPrivateKey(pem: identity.key) else {
            let words = OpenSSLErrors.drain()
            throw TLSContextFault(
                .key(index), "holds no private key in PEM without a password (\(words)); write it with openssl pkey")
        }
        self.key = key
        OpenSSLErrors.clear()
        guard unsafe X509_check_private_key(leaf.pointer, key.pointer) == 1 else {
            OpenSSLErrors.clear()
            throw TLSContextFault(
                .key(index),
                "is not the key of the first certificate, \(leaf.subject); the server's own certificate comes first")
        }
    }

    /// The certificates of a PEM file, at least one.
    static func certificates(
        _ pem: [UInt8], role: TLSContextFault.Role
    ) throws(TLSContextFault) -> [TLSCertificate] {
        let blocks: [[UInt8]]
        do throws(PEMFault) {
            blocks = try PEM.blocks(pem, label: "CERTIFICATE")
        } catch {
            throw TLSContextFault(role, "is no PEM file of certificates: \(words(for: error))")
        }
        var found: [TLSCertificate] = []
        for (number, der) in blocks.enumerated() {
            guard let certificate = TLSCertificate.read(der) else {
                throw TLSContextFault(
                    role, "holds no readable certificate as number \(number + 1) (\(OpenSSLErrors.drain()))")
            }
            found.append(certificate)
        }
        return found
    }

    private static func words(for fault: PEMFault) -> String {
        switch fault {
        case .noBlock: "it has no line -----BEGIN CERTIFICATE-----"
        case .boundary: "a BEGIN or END line is missing or cut off"
        case .label: "it holds something other than CERTIFICATE; keys go to a file of their own"
        case .base64: "a block holds something that is no base64"
        case .tooLong: "it has more than \(PEM.maximumSize) octets or \(PEM.maximumBlocks) certificates"
        }
    }

    /// What works, but not as an operator will have meant it.
    func remarks(names: [String], index: Int?, now: Int64) -> [TLSRemark] {
        var found: [String] = []
        for certificate in chain { found += Self.dateRemarks(certificate, now: now) }
        for (lower, upper) in zip(chain, chain.dropFirst()) where !lower.isIssued(by: upper) {
            found.append("\(lower.subject) was not issued by the certificate after it, \(upper.subject)")
        }
        for name in names where !leaf.covers(name) {
            found.append("the certificate is not for \(name): clients will refuse it")
        }
        return found.map { TLSRemark(role: .certificate(index), description: $0) }
    }

    static func dateRemarks(_ certificate: TLSCertificate, now: Int64) -> [String] {
        guard let from = certificate.notBefore, let until = certificate.notAfter else {
            return ["\(certificate.subject) has dates that cannot be read"]
        }
        if now > until { return ["\(certificate.subject) has expired: renew it"] }
        if now < from { return ["\(certificate.subject) is not valid yet; look at the clock of this machine"] }
        return []
    }
}
