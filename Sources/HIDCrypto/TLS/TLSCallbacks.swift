// SPDX-License-Identifier: Apache-2.0
internal import COpenSSL

/// What OpenSSL asks during a handshake; every answer comes from the session that runs it.
@safe enum TLSCallbacks {
    /// Where a SSL object keeps its session: slot 0, the application's.
    private static let slot: Int32 = 0

    /// Sets all of them in a context that nobody uses yet.
    static func install(in context: OpaquePointer, hasProtocols: Bool) {
        unsafe SSL_CTX_set_client_hello_cb(
            context, { ssl, alert, _ in unsafe TLSCallbacks.clientHello(ssl, alert) }, nil)
        unsafe SSL_CTX_set_tlsext_ticket_key_evp_cb(context) { ssl, name, iv, cipher, mac, seals in
            unsafe TLSCallbacks.ticketKey(ssl, name, iv, cipher, mac, seals: seals == 1)
        }
        unsafe SSL_CTX_set_session_ticket_cb(
            context, nil, { ssl, session, _, _, status, _ in unsafe TLSCallbacks.ticket(ssl, session, status) }, nil)
        guard hasProtocols else { return }
        unsafe SSL_CTX_set_alpn_select_cb(
            context,
            { ssl, chosen, size, offered, count, _ in
                unsafe TLSCallbacks.protocols(ssl, chosen, size, UnsafeBufferPointer(start: offered, count: Int(count)))
            }, nil)
    }

    /// Ties a SSL object to its session, which must outlive every call into it.
    static func bind(_ ssl: OpaquePointer, to session: TLSServerSession) -> Bool {
        unsafe SSL_set_ex_data(ssl, slot, Unmanaged.passUnretained(session).toOpaque()) == 1
    }

    private static func session(_ ssl: OpaquePointer?) -> TLSServerSession? {
        guard let ssl = unsafe ssl, let raw = unsafe SSL_get_ex_data(ssl, slot) else { return nil }
        return unsafe Unmanaged<TLSServerSession>.fromOpaque(raw).takeUnretainedValue()
    }

    // MARK: - ClientHello

    /// Chooses the identity before any ticket is looked at, so that one of another name is not resumed.
    private static func clientHello(_ ssl: OpaquePointer?, _ alert: UnsafeMutablePointer<Int32>?) -> Int32 {
        guard let ssl = unsafe ssl, let session = unsafe session(ssl) else { return SSL_CLIENT_HELLO_ERROR }
        var start: UnsafePointer<UInt8>?
        var count = 0
        var name: String?
        if unsafe SSL_client_hello_get0_ext(ssl, UInt32(TLSEXT_TYPE_server_name), &start, &count) == 1 {
            let bytes = unsafe [UInt8](UnsafeBufferPointer(start: start, count: count))
            name = TLSServerName.hostName(inExtension: bytes.span)
        }
        guard session.take(serverName: name) else {
            unsafe alert?.pointee = SSL_AD_ILLEGAL_PARAMETER
            return SSL_CLIENT_HELLO_ERROR
        }
        return SSL_CLIENT_HELLO_SUCCESS
    }

    // MARK: - ALPN

    /// The server's first choice that the client offers (RFC 7301 section 3.2); none is a fatal alert.
    private static func protocols(
        _ ssl: OpaquePointer?, _ chosen: UnsafeMutablePointer<UnsafePointer<UInt8>?>?,
        _ size: UnsafeMutablePointer<UInt8>?, _ offered: UnsafeBufferPointer<UInt8>
    ) -> Int32 {
        guard let session = unsafe session(ssl), let start = offered.baseAddress else {
            return SSL_TLSEXT_ERR_ALERT_FATAL
        }
        let list = unsafe [UInt8](offered)
        for wanted in session.context.protocolNames {
            var index = 0
            while index < list.count {
                let end = index + 1 + Int(list[index])
                guard end <= list.count else { return SSL_TLSEXT_ERR_ALERT_FATAL }
                if list[(index + 1)..<end].elementsEqual(wanted) {
                    unsafe chosen?.pointee = start + index + 1
                    unsafe size?.pointee = list[index]
                    return SSL_TLSEXT_ERR_OK
                }
                index = end
            }
        }
        return SSL_TLSEXT_ERR_ALERT_FATAL
    }

    // MARK: - Tickets

    /// Gives the key of a ticket: 1 to use it, 2 to use and renew it, 0 for none (RFC 5077 section 4).
    private static func ticketKey(
        _ ssl: OpaquePointer?, _ name: UnsafeMutablePointer<UInt8>?, _ iv: UnsafeMutablePointer<UInt8>?,
        _ cipher: OpaquePointer?, _ mac: OpaquePointer?, seals: Bool
    ) -> Int32 {
        guard let session = unsafe session(ssl), let name = unsafe name, let iv = unsafe iv,
            let cipher = unsafe cipher, let mac = unsafe mac
        else { return -1 }
        let tickets = session.context.tickets
        guard seals else {
            let wanted = unsafe [UInt8](UnsafeBufferPointer(start: name, count: TLSTicketKey.nameSize))
            guard let (key, isOld) = tickets.opening(wanted) else { return 0 }
            guard unsafe key.start(mac: mac), unsafe key.start(cipher, iv: iv, seals: false) else { return -1 }
            // A ticket of TLS 1.3 is for one connection (RFC 8446 appendix C.4): each gets another one.
            return unsafe isOld || SSL_version(ssl) == TLS1_3_VERSION ? 2 : 1
        }
        guard let key = tickets.sealing(), unsafe RAND_bytes(iv, 16) == 1 else { return -1 }
        unsafe name.update(from: key.name, count: TLSTicketKey.nameSize)
        return unsafe key.start(mac: mac) && key.start(cipher, iv: iv, seals: true) ? 1 : -1
    }

    /// Looks at a session before it is resumed: a client's certificate that has expired since is asked for again.
    private static func ticket(
        _ ssl: OpaquePointer?, _ stored: OpaquePointer?, _ status: SSL_TICKET_STATUS
    ) -> SSL_TICKET_RETURN {
        guard let stored = unsafe stored, status == SSL_TICKET_SUCCESS || status == SSL_TICKET_SUCCESS_RENEW else {
            return SSL_TICKET_RETURN_IGNORE_RENEW
        }
        guard let session = unsafe session(ssl) else { return SSL_TICKET_RETURN_IGNORE_RENEW }
        if let peer = unsafe SSL_SESSION_get0_peer(stored), unsafe X509_up_ref(peer) == 1 {
            let until = unsafe TLSCertificate(adopting: peer).notAfter ?? 0
            guard session.context.wallClock() <= until else { return SSL_TICKET_RETURN_IGNORE_RENEW }
        }
        return status == SSL_TICKET_SUCCESS ? SSL_TICKET_RETURN_USE : SSL_TICKET_RETURN_USE_RENEW
    }
}
