// SPDX-License-Identifier: Apache-2.0
internal import COpenSSL
internal import Glibc

/// A certificate as OpenSSL holds it; never mutated after `init`.
@safe final class TLSCertificate: @unchecked Sendable {
    let pointer: OpaquePointer  // X509, owned: freed in deinit

    /// Takes over one reference.
    init(adopting pointer: OpaquePointer) {
        unsafe self.pointer = pointer
    }

    deinit { unsafe X509_free(pointer) }

    /// Reads one certificate that fills `der`; nil when it is none.
    static func read(_ der: [UInt8]) -> TLSCertificate? {
        OpenSSLErrors.clear()
        let made = unsafe der.withUnsafeBufferPointer { buffer -> OpaquePointer? in
            guard let start = buffer.baseAddress else { return nil }
            var cursor: UnsafePointer<UInt8>? = unsafe start
            guard let made = unsafe d2i_X509(nil, &cursor, buffer.count) else { return nil }
            guard unsafe cursor == start + buffer.count else {
                unsafe X509_free(made)
                return nil
            }
            return unsafe made
        }
        return unsafe made.map { unsafe TLSCertificate(adopting: $0) }
    }

    /// DER of the whole certificate.
    var der: [UInt8] {
        let size = unsafe i2d_X509(pointer, nil)
        guard size > 0 else { return [] }
        var output = [UInt8](repeating: 0, count: Int(size))
        unsafe output.withUnsafeMutableBufferPointer { buffer in
            var cursor = buffer.baseAddress
            _ = unsafe i2d_X509(pointer, &cursor)
        }
        return output
    }

    /// The subject in the manner of RFC 2253, `CN=phone,O=Example`.
    var subject: String {
        guard let bio = unsafe BIO_new(BIO_s_mem()) else { return "" }
        defer { unsafe BIO_free(bio) }
        guard unsafe X509_NAME_print_ex(bio, X509_get_subject_name(pointer), 0, hid_x509_name_flags) >= 0 else {
            return ""
        }
        var text = [UInt8](repeating: 0, count: 1024)
        let count = unsafe text.withUnsafeMutableBufferPointer { buffer in
            unsafe BIO_read(bio, buffer.baseAddress, Int32(buffer.count))
        }
        return count > 0 ? String(decoding: text.prefix(Int(count)), as: UTF8.self) : ""
    }

    /// Lower-case hex of the serial number.
    var serial: String {
        guard let number = unsafe ASN1_INTEGER_to_BN(X509_get0_serialNumber(pointer), nil) else { return "" }
        defer { unsafe BN_free(number) }
        guard let text = unsafe BN_bn2hex(number) else { return "" }
        defer { unsafe CRYPTO_free(text, nil, 0) }
        return unsafe String(cString: text).lowercased()
    }

    /// Seconds since 1970; nil for a date that cannot be read.
    var notBefore: Int64? { unsafe Self.seconds(X509_get0_notBefore(pointer)) }

    /// Seconds since 1970; nil for a date that cannot be read.
    var notAfter: Int64? { unsafe Self.seconds(X509_get0_notAfter(pointer)) }

    /// Whether `other` is named as the issuer of this certificate.
    func isIssued(by other: TLSCertificate) -> Bool {
        unsafe X509_NAME_cmp(X509_get_issuer_name(pointer), X509_get_subject_name(other.pointer)) == 0
    }

    /// Whether clients that look for a name take this certificate.
    func covers(_ name: String) -> Bool {
        let wanted = name.hasPrefix("*.") ? "one-label" + name.dropFirst() : name
        return unsafe X509_check_host(pointer, wanted, wanted.utf8.count, 0, nil) == 1
    }

    private static func seconds(_ time: UnsafePointer<ASN1_TIME>?) -> Int64? {
        var fields = unsafe tm()
        guard let time = unsafe time, unsafe ASN1_TIME_to_tm(time, &fields) == 1 else { return nil }
        return unsafe Int64(timegm(&fields))
    }
}

/// What an operator wants to see of a server's certificate.
package struct TLSCertificateFacts: Sendable, Equatable {
    /// `default`, or the first server name that it is for.
    package let name: String
    package let subject: String
    /// Lower-case hex.
    package let serial: String
    /// Seconds since 1970.
    package let notBefore: Int64
    /// Seconds since 1970.
    package let notAfter: Int64

    init(name: String, _ certificate: TLSCertificate) {
        self.name = name
        subject = certificate.subject
        serial = certificate.serial
        notBefore = certificate.notBefore ?? 0
        notAfter = certificate.notAfter ?? 0
    }
}

/// A client's certificate that was verified.
package struct TLSPeerCertificate: Sendable, Equatable {
    /// DER of the leaf.
    package let der: [UInt8]
    /// In the manner of RFC 2253, `CN=phone,O=Example`.
    package let subject: String
}
