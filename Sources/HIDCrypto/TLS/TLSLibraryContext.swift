// SPDX-License-Identifier: Apache-2.0
internal import COpenSSL

/// The authorities of clients, read.
struct TLSClientAuthorities {
    let certificates: [TLSCertificate]

    init(pem: [UInt8]) throws(TLSContextFault) {
        certificates = try TLSIdentityFiles.certificates(pem, role: .clientAuthorities)
    }

    /// A digest of the set, whatever its order.
    var digest: [UInt8] {
        let digests = certificates.map { certificate in
            let der = certificate.der
            return SHA256.digest(der.span)
        }
        let sorted = digests.sorted { $0.lexicographicallyPrecedes($1) }.flatMap { $0 }
        return SHA256.digest(sorted.span)
    }
}

/// One SSL_CTX with the identity that it shows; complete after `init`, then only read by its sessions.
@safe final class TLSLibraryContext: @unchecked Sendable {
    let pointer: OpaquePointer  // SSL_CTX, owned: freed in deinit

    /// AEAD with a key that is thrown away, and nothing else (RFC 9325 section 4.2); TLS 1.3 has no other.
    private static let ciphers =
        "ECDHE-ECDSA-AES128-GCM-SHA256:ECDHE-RSA-AES128-GCM-SHA256:ECDHE-ECDSA-AES256-GCM-SHA384:"
        + "ECDHE-RSA-AES256-GCM-SHA384:ECDHE-ECDSA-CHACHA20-POLY1305:ECDHE-RSA-CHACHA20-POLY1305"
    private static let groups = "X25519:P-256:P-384"
    /// Seconds that a session may be resumed.
    private static let sessionLife = 7200

    init(
        _ files: TLSIdentityFiles, index: Int?, settings: TLSServerSettings, authorities: TLSClientAuthorities?
    ) throws(TLSContextFault) {
        OpenSSLErrors.clear()
        guard let made = unsafe SSL_CTX_new(TLS_server_method()) else {
            throw TLSContextFault(.library, "OpenSSL makes no TLS context: \(OpenSSLErrors.drain())")
        }
        unsafe pointer = made
        try setPolicy(settings)
        try setIdentity(files, index: index)
        if let authorities { try setAuthorities(authorities, settings.clientAuthentication) }
        unsafe TLSCallbacks.install(in: made, hasProtocols: !settings.protocols.isEmpty)
    }

    deinit { unsafe SSL_CTX_free(pointer) }

    private func setPolicy(_ settings: TLSServerSettings) throws(TLSContextFault) {
        let minimum = settings.minimumVersion == .tls13 ? TLS1_3_VERSION : TLS1_2_VERSION
        unsafe SSL_CTX_set_security_level(pointer, 2)
        let options = hid_ssl_op_no_compression | hid_ssl_op_no_renegotiation | hid_ssl_op_server_preference
        _ = unsafe SSL_CTX_set_options(pointer, options)
        // The chain is what its file says; nothing is looked up for it among the authorities of clients.
        let modes =
            Int(SSL_MODE_NO_AUTO_CHAIN) | Int(SSL_MODE_ENABLE_PARTIAL_WRITE) | Int(SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER)
            | Int(SSL_MODE_RELEASE_BUFFERS) | Int(SSL_MODE_AUTO_RETRY)
        unsafe SSL_CTX_ctrl(pointer, SSL_CTRL_MODE, modes, nil)
        // Tickets hold the sessions: nothing of them stays here.
        unsafe SSL_CTX_ctrl(pointer, SSL_CTRL_SET_SESS_CACHE_MODE, Int(SSL_SESS_CACHE_OFF), nil)
        unsafe SSL_CTX_set_timeout(pointer, Self.sessionLife)
        // One read for the header and the octets of a record, instead of two.
        unsafe SSL_CTX_ctrl(pointer, SSL_CTRL_SET_READ_AHEAD, 1, nil)
        var groups = Array(Self.groups.utf8CString)
        guard
            unsafe SSL_CTX_ctrl(pointer, SSL_CTRL_SET_MIN_PROTO_VERSION, Int(minimum), nil) == 1,
            unsafe SSL_CTX_set_max_early_data(pointer, 0) == 1,
            unsafe SSL_CTX_set_cipher_list(pointer, Self.ciphers) == 1,
            unsafe SSL_CTX_ctrl(pointer, SSL_CTRL_SET_GROUPS_LIST, 0, &groups) == 1
        else {
            throw TLSContextFault(
                .library, "OpenSSL refuses our versions, ciphers or groups: \(OpenSSLErrors.drain())")
        }
    }

    private func setIdentity(_ files: TLSIdentityFiles, index: Int?) throws(TLSContextFault) {
        guard unsafe SSL_CTX_use_certificate(pointer, files.leaf.pointer) == 1 else {
            throw refusal(.certificate(index))
        }
        for certificate in files.chain.dropFirst() {
            let raw = unsafe UnsafeMutableRawPointer(certificate.pointer)
            guard unsafe SSL_CTX_ctrl(pointer, SSL_CTRL_CHAIN_CERT, 1, raw) == 1 else {
                throw refusal(.certificate(index))
            }
        }
        guard unsafe SSL_CTX_use_PrivateKey(pointer, files.key.pointer) == 1,
            unsafe SSL_CTX_check_private_key(pointer) == 1
        else { throw refusal(.key(index)) }
    }

    private func refusal(_ role: TLSContextFault.Role) -> TLSContextFault {
        TLSContextFault(role, "is refused by OpenSSL: \(OpenSSLErrors.drain())")
    }

    private func setAuthorities(
        _ authorities: TLSClientAuthorities, _ mode: TLSClientAuthentication
    ) throws(TLSContextFault) {
        guard let store = unsafe X509_STORE_new() else { throw refusal(.clientAuthorities) }
        // An intermediate authority in the bundle is believed without its root.
        _ = unsafe X509_STORE_set_flags(store, UInt(X509_V_FLAG_PARTIAL_CHAIN))
        unsafe SSL_CTX_set_cert_store(pointer, store)  // The context owns it now.
        for certificate in authorities.certificates {
            guard unsafe X509_STORE_add_cert(store, certificate.pointer) == 1,
                unsafe SSL_CTX_add_client_CA(pointer, certificate.pointer) == 1
            else { throw refusal(.clientAuthorities) }
        }
        let required = mode == .required ? SSL_VERIFY_FAIL_IF_NO_PEER_CERT : 0
        unsafe SSL_CTX_set_verify(pointer, SSL_VERIFY_PEER | required, nil)
        unsafe SSL_CTX_set_verify_depth(pointer, 8)
    }
}
