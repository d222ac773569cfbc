// SPDX-License-Identifier: Apache-2.0
internal import COpenSSL
internal import Glibc

/// The server's side of one TLS connection over a non-blocking socket.
///
/// Confined to the loop of its connection. Reading and writing drive the handshake by themselves. Everything after a
/// fault is that fault again. The descriptor stays the caller's, who closes it after this object is gone or unused.
@safe package final class TLSServerSession {
    package let context: TLSServerContext
    /// Why the session failed; nil while it has not.
    package private(set) var fault: TLSSessionFault?
    /// The peer closed without close_notify: what came last may be cut off (RFC 8446 section 6.1).
    package private(set) var isTruncated = false
    /// The last `receive` came to `again` because the socket takes no more octets: call it again when it does.
    package private(set) var receiveWaitsForWriting = false
    /// The last `send` came to `again` because the handshake needs octets of the client.
    package private(set) var sendWaitsForReading = false
    /// The host name that the client asked for, lower case without a dot at its end; nil for none.
    package private(set) var serverName: String?

    private let ssl: OpaquePointer  // SSL, owned: freed in deinit
    private let socket: TLSSocket
    private var isEnded = false
    /// A part of a record is under way.
    private var isSending = false
    private var isWriteClosed = false
    private var hasSeenHello = false

    /// Starts a handshake that the first `receive` goes on with.
    ///
    /// - Parameters:
    ///   - context: What is served; the session keeps it.
    ///   - descriptor: A connected stream socket, not blocking.
    /// - Throws: `operationFailed` without memory.
    package init(context: TLSServerContext, descriptor: Int32) throws(CryptoError) {
        OpenSSLErrors.clear()
        let socket = TLSSocket(descriptor: descriptor)
        guard let made = unsafe SSL_new(context.initial.pointer) else {
            throw .operationFailed("make a TLS session", openSSL: OpenSSLErrors.drain())
        }
        guard let bio = socket.makeBIO() else {
            unsafe SSL_free(made)
            throw .operationFailed("make a TLS session", openSSL: OpenSSLErrors.drain())
        }
        unsafe SSL_set_bio(made, bio, bio)
        self.context = context
        self.socket = socket
        unsafe ssl = made
        unsafe SSL_set_accept_state(made)
        guard unsafe TLSCallbacks.bind(made, to: self), setSessionIdentifier(forName: nil) else {
            throw .operationFailed("make a TLS session", openSSL: OpenSSLErrors.drain())
        }
    }

    deinit { unsafe SSL_free(ssl) }

    // MARK: - Octets

    /// Receives into `buffer`, from its start; at most one record.
    ///
    /// After `bytes` more may be there: an edge comes only after `again`. The end of the stream is `endOfStream` with
    /// or without close_notify; `isTruncated` tells.
    package func receive(into buffer: inout [UInt8]) -> TLSResult {
        if let fault { return .failed(fault) }
        if isEnded { return .endOfStream }
        guard !buffer.isEmpty else { return .bytes(0) }
        OpenSSLErrors.clear()
        receiveWaitsForWriting = false
        var count = 0
        let code = unsafe buffer.withUnsafeMutableBytes { bytes in
            unsafe SSL_read_ex(ssl, bytes.baseAddress, bytes.count, &count)
        }
        if code == 1 { return .bytes(count) }
        switch unsafe SSL_get_error(ssl, code) {
        case SSL_ERROR_WANT_READ: return .again
        case SSL_ERROR_WANT_WRITE:
            receiveWaitsForWriting = true
            return .again
        case SSL_ERROR_ZERO_RETURN where isEstablished:
            isEnded = true
            return .endOfStream
        case SSL_ERROR_SYSCALL where isEstablished && socket.error == 0 && socket.isAtEnd:
            (isEnded, isTruncated) = (true, true)
            return .endOfStream
        case let kind: return fail(kind)
        }
    }

    /// Sends `bytes` from `offset` on, or a part of them.
    ///
    /// After `again` the next call must begin with the same octets, in the same place or elsewhere, and have no fewer:
    /// a part of them may be under way.
    package func send(_ bytes: [UInt8], from offset: Int) -> TLSResult {
        if let fault { return .failed(fault) }
        guard offset >= 0, offset < bytes.count else { return .bytes(0) }
        OpenSSLErrors.clear()
        (sendWaitsForReading, isSending) = (false, false)
        var count = 0
        let code = unsafe bytes.withUnsafeBytes { source in
            let rest = unsafe UnsafeRawBufferPointer(rebasing: source[offset...])
            return unsafe SSL_write_ex(ssl, rest.baseAddress, rest.count, &count)
        }
        if code == 1 { return .bytes(count) }
        switch unsafe SSL_get_error(ssl, code) {
        case SSL_ERROR_WANT_WRITE:
            isSending = isEstablished
            return .again
        case SSL_ERROR_WANT_READ:
            sendWaitsForReading = true
            return .again
        case let kind: return fail(kind)
        }
    }

    /// Sends close_notify: nothing can be sent after it, but received.
    ///
    /// `bytes(0)` when it is out or there is none to send, before the handshake was over for example; `again` when the
    /// socket takes no more, or a `send` that came to `again` was not repeated: do that, and call it again. The caller
    /// then shuts the socket's write side down.
    package func closeWrite() -> TLSResult {
        if let fault { return .failed(fault) }
        guard isEstablished, !isWriteClosed else { return .bytes(0) }
        guard !isSending else { return .again }
        OpenSSLErrors.clear()
        // 0: ours is out, the peer's is not here; 1: both.
        let code = unsafe SSL_shutdown(ssl)
        guard code < 0 else {
            isWriteClosed = true
            return .bytes(0)
        }
        let kind = unsafe SSL_get_error(ssl, code)
        return kind == SSL_ERROR_WANT_WRITE ? .again : fail(kind)
    }

    private func fail(_ kind: Int32) -> TLSResult {
        let found = makeFault(kind)
        OpenSSLErrors.clear()
        fault = found
        return .failed(found)
    }

    private func makeFault(_ kind: Int32) -> TLSSessionFault {
        if socket.error != 0 {
            let text = unsafe strerror(socket.error).map { unsafe String(cString: $0) } ?? "error \(socket.error)"
            return TLSSessionFault(.connection, text)
        }
        if kind == SSL_ERROR_SSL { return unsafe TLSSessionFault.drain(verification: SSL_get_verify_result(ssl)) }
        guard socket.isAtEnd || kind == SSL_ERROR_ZERO_RETURN else {
            return TLSSessionFault(.internal, "error \(kind): \(OpenSSLErrors.drain())")
        }
        let how = socket.received == 0 ? "before the first octet" : "in the handshake"
        return TLSSessionFault(.closed, "the client closed \(how)")
    }

    // MARK: - Facts

    /// The handshake is over.
    package var isEstablished: Bool { unsafe SSL_is_init_finished(ssl) == 1 }

    /// Octets were read from the socket that `receive` has not given yet; they may be a part of a record only.
    ///
    /// No edge will come for them: whoever stops before `again` must come back by himself.
    package var hasBufferedInput: Bool { unsafe SSL_has_pending(ssl) == 1 }

    /// What ALPN came to; nil for a client that offered nothing.
    package var applicationProtocol: TLSApplicationProtocol? {
        var start: UnsafePointer<UInt8>?
        var count: UInt32 = 0
        unsafe SSL_get0_alpn_selected(ssl, &start, &count)
        guard count > 0 else { return nil }
        let name = unsafe [UInt8](UnsafeBufferPointer(start: start, count: Int(count)))
        return TLSApplicationProtocol(rawValue: String(decoding: name, as: UTF8.self))
    }

    /// nil before the handshake is over.
    package var version: TLSVersion? {
        guard isEstablished else { return nil }
        return switch unsafe SSL_version(ssl) {
        case TLS1_2_VERSION: .tls12
        case TLS1_3_VERSION: .tls13
        default: nil
        }
    }

    /// OpenSSL's name of the cipher, like `TLS_AES_128_GCM_SHA256`; nil before the handshake is over.
    package var cipher: String? {
        guard isEstablished, let cipher = unsafe SSL_get_current_cipher(ssl) else { return nil }
        return unsafe SSL_CIPHER_get_name(cipher).map { unsafe String(cString: $0) }
    }

    /// The handshake went on with a session of before.
    package var isResumed: Bool { unsafe isEstablished && SSL_session_reused(ssl) == 1 }

    /// The client's certificate, if it showed one and that was verified, now or when the session was made.
    package var peerCertificate: TLSPeerCertificate? {
        guard isEstablished, unsafe SSL_get_verify_mode(ssl) & SSL_VERIFY_PEER != 0,
            unsafe SSL_get_verify_result(ssl) == Int(X509_V_OK),
            let pointer = unsafe SSL_get1_peer_certificate(ssl)
        else { return nil }
        let certificate = unsafe TLSCertificate(adopting: pointer)
        return TLSPeerCertificate(der: certificate.der, subject: certificate.subject)
    }

    // MARK: - For callbacks

    /// Takes the name of a ClientHello and with it the identity; false when a second one names another server.
    func take(serverName name: String?) -> Bool {
        // After a HelloRetryRequest nothing but the key share may change (RFC 8446 section 4.1.2).
        guard !hasSeenHello || name == serverName else { return false }
        hasSeenHello = true
        serverName = name
        let chosen = context.context(forName: name)
        guard unsafe SSL_set_SSL_CTX(ssl, chosen.pointer) != nil else { return false }
        return setSessionIdentifier(forName: name)
    }

    private func setSessionIdentifier(forName name: String?) -> Bool {
        let identifier = context.sessionIdentifier(forName: name)
        return unsafe SSL_set_session_id_context(ssl, identifier, UInt32(identifier.count)) == 1
    }
}
