// SPDX-License-Identifier: Apache-2.0
internal import COpenSSL

/// Why a TLS session failed.
package struct TLSSessionFault: Error, Sendable, Equatable, CustomStringConvertible {
    /// A word for logs and metrics; it does not change between versions.
    package enum Reason: String, Sendable, CaseIterable {
        /// The first octets are no TLS: plain HTTP on a TLS port, mostly.
        case notTLS = "not_tls"
        /// No version of TLS that both speak.
        case unsupportedVersion = "unsupported_version"
        /// No cipher, group or signature algorithm in common.
        case noSharedCipher = "no_shared_cipher"
        /// ALPN names nothing that this listener speaks.
        case noSharedProtocol = "no_shared_protocol"
        case certificateRequired = "certificate_required"
        /// The client's certificate leads to no authority of `client_ca`.
        case unknownCA = "unknown_ca"
        case certificateExpired = "certificate_expired"
        /// The client's certificate is no good for another reason.
        case badCertificate = "bad_certificate"
        /// The client gave up, in words of its own: it dislikes our certificate, mostly.
        case alertReceived = "alert_received"
        /// The client closed before the handshake was over.
        case closed = "closed"
        /// The connection broke.
        case connection = "connection"
        /// A record that does not fit its keys.
        case badRecord = "bad_record"
        /// A message that is against the protocol.
        case malformed = "malformed"
        /// Our own fault.
        case `internal` = "internal"
    }

    package let reason: Reason
    /// OpenSSL's words or those of the system, for the log.
    package let detail: String

    package var description: String { "\(reason.rawValue) (\(detail))" }

    init(_ reason: Reason, _ detail: String) {
        self.reason = reason
        self.detail = detail
    }
}

/// What reading or writing came to.
package enum TLSResult: Sendable, Equatable {
    case bytes(Int)
    /// Nothing now: an edge of the socket will tell.
    case again
    case endOfStream
    case failed(TLSSessionFault)
}

extension TLSSessionFault {
    /// Takes the queue of the calling thread; the newest entry of the TLS part says what it means.
    static func drain(verification: Int) -> TLSSessionFault {
        let entries = OpenSSLErrors.drainEntries()
        let words = entries.map(\.words).joined(separator: "; ")
        let code = entries.last { Int32(truncatingIfNeeded: $0.code >> 23) & 0xFF == ERR_LIB_SSL }?.code
        guard let code else { return TLSSessionFault(.internal, words.isEmpty ? "no details" : words) }
        let number = Int32(truncatingIfNeeded: code & 0x7F_FFFF)
        if number == SSL_R_CERTIFICATE_VERIFY_FAILED {
            let text = unsafe String(cString: X509_verify_cert_error_string(verification))
            return TLSSessionFault(certificateReason(Int32(truncatingIfNeeded: verification)), text)
        }
        if Int(number) & ERR_R_FATAL == ERR_R_FATAL { return TLSSessionFault(.internal, words) }
        // Alerts of the peer are numbers from 1000 on.
        if number >= SSL_AD_REASON_OFFSET { return TLSSessionFault(.alertReceived, words) }
        return TLSSessionFault(reason(number), words)
    }

    private static func certificateReason(_ code: Int32) -> Reason {
        switch code {
        case X509_V_ERR_CERT_HAS_EXPIRED: .certificateExpired
        case X509_V_ERR_UNABLE_TO_GET_ISSUER_CERT, X509_V_ERR_UNABLE_TO_GET_ISSUER_CERT_LOCALLY,
            X509_V_ERR_SELF_SIGNED_CERT_IN_CHAIN, X509_V_ERR_DEPTH_ZERO_SELF_SIGNED_CERT,
            X509_V_ERR_UNABLE_TO_VERIFY_LEAF_SIGNATURE:
            .unknownCA
        default: .badCertificate
        }
    }

    private static func reason(_ number: Int32) -> Reason {
        switch number {
        case SSL_R_HTTP_REQUEST, SSL_R_HTTPS_PROXY_REQUEST, SSL_R_WRONG_VERSION_NUMBER: .notTLS
        case SSL_R_UNSUPPORTED_PROTOCOL, SSL_R_NO_PROTOCOLS_AVAILABLE, SSL_R_VERSION_TOO_LOW,
            SSL_R_UNKNOWN_PROTOCOL, SSL_R_INAPPROPRIATE_FALLBACK:
            .unsupportedVersion
        case SSL_R_NO_SHARED_CIPHER, SSL_R_NO_SHARED_GROUPS, SSL_R_NO_SUITABLE_SIGNATURE_ALGORITHM,
            SSL_R_NO_SHARED_SIGNATURE_ALGORITHMS, SSL_R_NO_SUITABLE_KEY_SHARE, SSL_R_NO_CIPHERS_SPECIFIED:
            .noSharedCipher
        case SSL_R_NO_APPLICATION_PROTOCOL: .noSharedProtocol
        case SSL_R_PEER_DID_NOT_RETURN_A_CERTIFICATE: .certificateRequired
        case SSL_R_DECRYPTION_FAILED_OR_BAD_RECORD_MAC, SSL_R_DIGEST_CHECK_FAILED, SSL_R_BAD_SIGNATURE: .badRecord
        default: .malformed
        }
    }
}
