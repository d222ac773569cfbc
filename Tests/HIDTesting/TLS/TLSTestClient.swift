// SPDX-License-Identifier: Apache-2.0
internal import COpenSSL

/// A session that a client may resume.
@safe package final class TLSTestTicket: @unchecked Sendable {
    let pointer: OpaquePointer  // SSL_SESSION, owned: freed in deinit

    init(adopting pointer: OpaquePointer) { unsafe self.pointer = pointer }

    deinit { unsafe SSL_SESSION_free(pointer) }

    /// What the server reads of it.
    package var octets: [UInt8] {
        var start: UnsafePointer<UInt8>?
        var count = 0
        unsafe SSL_SESSION_get0_ticket(pointer, &start, &count)
        return unsafe [UInt8](UnsafeBufferPointer(start: start, count: count))
    }
}

/// A TLS client without a socket: octets go in and come out, so that a test may cut and change them.
@safe package final class TLSTestClient {
    /// What a client wants.
    package struct Options {
        package var serverName: String?
        /// In the client's order; nil offers no ALPN.
        package var protocols: [String]?
        package var minimum: Version = .tls12
        package var maximum: Version = .tls13
        /// PEM of whom to believe; nil believes anybody.
        package var authorities: [UInt8]?
        package var identity: TLSTestIdentity?
        package var ticket: TLSTestTicket?
        /// The groups of the key exchange, as `openssl` names them.
        package var groups: String?
        /// Offers ciphers of TLS 1.2 by name.
        package var ciphers: String?

        package init() {}
    }

    package enum Version: Sendable { case tls10, tls11, tls12, tls13 }

    /// What became of a step.
    package enum Outcome: Equatable {
        case done
        case again
        /// The server closed in order.
        case ended
        /// OpenSSL's reason, like `tlsv1 alert unknown ca`.
        case failed(String)
    }

    package struct Failure: Error {
        let what: String
    }

    private let context: OpaquePointer
    private let ssl: OpaquePointer
    private let input: OpaquePointer
    private let output: OpaquePointer
    /// Tickets in the order of their coming.
    package private(set) var tickets: [TLSTestTicket] = []

    package init(_ options: Options = Options()) throws {
        guard let context = unsafe SSL_CTX_new(TLS_client_method()) else { throw Failure(what: "context") }
        unsafe self.context = context
        unsafe SSL_CTX_set_security_level(context, options.minimum == .tls10 || options.minimum == .tls11 ? 0 : 1)
        unsafe SSL_CTX_ctrl(context, SSL_CTRL_SET_MIN_PROTO_VERSION, Self.number(options.minimum), nil)
        unsafe SSL_CTX_ctrl(context, SSL_CTRL_SET_MAX_PROTO_VERSION, Self.number(options.maximum), nil)
        unsafe SSL_CTX_ctrl(context, SSL_CTRL_SET_SESS_CACHE_MODE, Int(SSL_SESS_CACHE_CLIENT | 0x300), nil)
        unsafe SSL_CTX_sess_set_new_cb(context) { ssl, session in
            guard let ssl = unsafe ssl, let session = unsafe session, let raw = unsafe SSL_get_ex_data(ssl, 0) else {
                return 0
            }
            let client = unsafe Unmanaged<TLSTestClient>.fromOpaque(raw).takeUnretainedValue()
            client.tickets.append(unsafe TLSTestTicket(adopting: session))
            return 1
        }
        guard let ssl = unsafe SSL_new(context), let input = unsafe BIO_new(BIO_s_mem()),
            let output = unsafe BIO_new(BIO_s_mem())
        else { throw Failure(what: "session") }
        unsafe (self.ssl, self.input, self.output) = (ssl, input, output)
        // An empty input is "come again", not the end.
        unsafe BIO_ctrl(input, BIO_C_SET_BUF_MEM_EOF_RETURN, -1, nil)
        unsafe SSL_set_bio(ssl, input, output)
        unsafe SSL_set_connect_state(ssl)
        _ = unsafe SSL_set_ex_data(ssl, 0, Unmanaged.passUnretained(self).toOpaque())
        try apply(options)
    }

    deinit {
        // Without an orderly end OpenSSL would forbid the resumption of its session.
        unsafe SSL_set_shutdown(ssl, SSL_SENT_SHUTDOWN | SSL_RECEIVED_SHUTDOWN)
        unsafe SSL_free(ssl)
        unsafe SSL_CTX_free(context)
    }

    private static func number(_ version: Version) -> Int {
        switch version {
        case .tls10: Int(TLS1_VERSION)
        case .tls11: Int(TLS1_1_VERSION)
        case .tls12: Int(TLS1_2_VERSION)
        case .tls13: Int(TLS1_3_VERSION)
        }
    }

    private func apply(_ options: Options) throws {
        if let name = options.serverName {
            var octets = Array(name.utf8CString)
            let kind = Int(TLSEXT_NAMETYPE_host_name)
            try require(unsafe SSL_ctrl(ssl, SSL_CTRL_SET_TLSEXT_HOSTNAME, kind, &octets) == 1, "name")
        }
        if let protocols = options.protocols {
            let list = protocols.flatMap { [UInt8($0.utf8.count)] + Array($0.utf8) }
            try require(unsafe SSL_set_alpn_protos(ssl, list, UInt32(list.count)) == 0, "protocols")
        }
        if let groups = options.groups {
            var octets = Array(groups.utf8CString)
            try require(unsafe SSL_ctrl(ssl, SSL_CTRL_SET_GROUPS_LIST, 0, &octets) == 1, "groups")
        }
        if let ciphers = options.ciphers {
            try require(unsafe SSL_set_cipher_list(ssl, ciphers) == 1, "ciphers")
        }
        if let ticket = options.ticket {
            // A copy: OpenSSL uses up one of TLS 1.3.
            guard let copy = unsafe SSL_SESSION_dup(ticket.pointer) else { throw Failure(what: "ticket") }
            defer { unsafe SSL_SESSION_free(copy) }
            try require(unsafe SSL_set_session(ssl, copy) == 1, "ticket")
        }
        if let identity = options.identity { try set(identity) }
        guard let authorities = options.authorities else { return }
        let store = unsafe SSL_CTX_get_cert_store(context)
        try unsafe withPEM(authorities) { bio in
            guard let root = unsafe PEM_read_bio_X509(bio, nil, nil, nil) else { return false }
            defer { unsafe X509_free(root) }
            return unsafe X509_STORE_add_cert(store, root) == 1
        }
        unsafe SSL_set_verify(ssl, SSL_VERIFY_PEER, nil)
        if let name = options.serverName { try require(unsafe SSL_set1_host(ssl, name) == 1, "host") }
    }

    private func set(_ identity: TLSTestIdentity) throws {
        try unsafe withPEM(identity.certificate) { bio in
            guard let leaf = unsafe PEM_read_bio_X509(bio, nil, nil, nil) else { return false }
            defer { unsafe X509_free(leaf) }
            return unsafe SSL_use_certificate(ssl, leaf) == 1
        }
        try unsafe withPEM(identity.key) { bio in
            guard let key = unsafe PEM_read_bio_PrivateKey(bio, nil, nil, nil) else { return false }
            defer { unsafe EVP_PKEY_free(key) }
            return unsafe SSL_use_PrivateKey(ssl, key) == 1
        }
    }

    private func withPEM(_ pem: [UInt8], _ body: (OpaquePointer) -> Bool) throws {
        guard let bio = unsafe BIO_new(BIO_s_mem()) else { throw Failure(what: "memory") }
        defer { unsafe BIO_free(bio) }
        _ = unsafe BIO_write(bio, pem, Int32(pem.count))
        try require(unsafe body(bio), "PEM")
    }

    private func require(_ isDone: Bool, _ what: String) throws {
        if !isDone { throw Failure(what: what) }
    }

    // MARK: - Steps

    private func outcome(_ code: Int32) -> Outcome {
        if code > 0 { return .done }
        switch unsafe SSL_get_error(ssl, code) {
        case SSL_ERROR_WANT_READ, SSL_ERROR_WANT_WRITE: return .again
        case SSL_ERROR_ZERO_RETURN: return .ended
        default:
            let text = unsafe ERR_reason_error_string(ERR_peek_error()).map { unsafe String(cString: $0) }
            return .failed(text ?? "no reason")
        }
    }

    /// Goes on with the handshake.
    package func shake() -> Outcome {
        ERR_clear_error()
        return outcome(unsafe SSL_do_handshake(ssl))
    }

    /// Octets for the server.
    package func takeOutput(limit: Int = 1 << 20) -> [UInt8] {
        var bytes = [UInt8](repeating: 0, count: limit)
        let count = unsafe BIO_read(output, &bytes, Int32(limit))
        return Array(bytes.prefix(max(0, Int(count))))
    }

    /// Octets of the server.
    package func give(_ bytes: [UInt8]) {
        if !bytes.isEmpty { _ = unsafe BIO_write(input, bytes, Int32(bytes.count)) }
    }

    /// Encrypts.
    package func write(_ bytes: [UInt8]) -> Outcome {
        ERR_clear_error()
        return outcome(unsafe SSL_write(ssl, bytes, Int32(bytes.count)))
    }

    /// Decrypts what is there.
    package func read() -> (bytes: [UInt8], outcome: Outcome) {
        var all: [UInt8] = []
        var chunk = [UInt8](repeating: 0, count: 16_384)
        while true {
            ERR_clear_error()
            let count = unsafe SSL_read(ssl, &chunk, Int32(chunk.count))
            guard count > 0 else { return (all, outcome(count)) }
            all += chunk[..<Int(count)]
        }
    }

    /// Sends close_notify.
    package func close() { _ = unsafe SSL_shutdown(ssl) }

    /// Asks for another handshake (RFC 5246 section 7.4.1.1).
    package func renegotiate() -> Outcome {
        ERR_clear_error()
        guard unsafe SSL_renegotiate(ssl) == 1 else { return .failed("not allowed") }
        return shake()
    }

    // MARK: - Facts

    package var isResumed: Bool { unsafe SSL_session_reused(ssl) == 1 }

    /// The ticket of the connection as it is now; of TLS 1.2 it changes when the server renews it.
    package var ticket: TLSTestTicket? {
        guard let pointer = unsafe SSL_get1_session(ssl) else { return nil }
        return unsafe TLSTestTicket(adopting: pointer)
    }

    package var isEstablished: Bool { unsafe SSL_is_init_finished(ssl) == 1 }

    /// What ALPN came to.
    package var applicationProtocol: String? {
        var start: UnsafePointer<UInt8>?
        var count: UInt32 = 0
        unsafe SSL_get0_alpn_selected(ssl, &start, &count)
        guard count > 0 else { return nil }
        return unsafe String(decoding: UnsafeBufferPointer(start: start, count: Int(count)), as: UTF8.self)
    }

    /// DER of the server's certificate.
    package var serverCertificate: [UInt8] {
        guard let pointer = unsafe SSL_get1_peer_certificate(ssl) else { return [] }
        defer { unsafe X509_free(pointer) }
        var output = [UInt8](repeating: 0, count: Int(unsafe i2d_X509(pointer, nil)))
        unsafe output.withUnsafeMutableBufferPointer { buffer in
            var cursor = buffer.baseAddress
            _ = unsafe i2d_X509(pointer, &cursor)
        }
        return output
    }
}
