// SPDX-License-Identifier: Apache-2.0

internal import CCurl
internal import CLinux
internal import Glibc

/// One connection dialled and carried by libcurl (CURLOPT_CONNECT_ONLY): name resolution, happy eyeballs, unix
/// sockets and TLS are libcurl's, the octets on it are ours.
///
/// Each has a multi handle of its own: libcurl walks the connection cache of the multi at every send, and a handle
/// that leaves its multi loses its connection. Confined to its loop; libcurl's callbacks come only from calls made
/// here.
@safe final class CurlTransport {
    private let easy: OpaquePointer
    private let multi: OpaquePointer
    private unowned let loop: EventLoop
    private var watches: [Int32: SocketWatch] = [:]
    private var timer: LoopTimer?
    private var connectTo: UnsafeMutablePointer<curl_slist>?
    private var completion: ((UpstreamFault?) -> Void)?
    private(set) var descriptor: Int32 = -1
    private var isClosed = false

    /// Once for the process; libcurl asks for it before any thread uses it.
    private static let isInitialised: Bool = curl_global_init(hid_curl_global_all) == CURLE_OK

    /// `address`: what is dialled in place of the target's host.
    init(target: UpstreamTarget, address: PeerAddress?, loop: EventLoop) throws(UpstreamFault) {
        guard Self.isInitialised, let easy = unsafe curl_easy_init() else { throw .connect }
        guard let multi = unsafe curl_multi_init() else {
            unsafe curl_easy_cleanup(UnsafeMutableRawPointer(easy))
            throw .connect
        }
        unsafe self.easy = OpaquePointer(easy)
        unsafe self.multi = OpaquePointer(multi)
        self.loop = loop
        guard configure(target, address) else {
            close()
            throw .connect
        }
    }

    deinit {
        if !isClosed { close() }
    }

    /// Tells the peer of a connection without TLS that nothing more comes; it may still send.
    func closeWrite() {
        shutdown(descriptor, Int32(SHUT_WR))
    }

    // MARK: - Dialling

    private func configure(_ target: UpstreamTarget, _ address: PeerAddress?) -> Bool {
        let easy = unsafe UnsafeMutableRawPointer(self.easy)
        var results: [CURLcode] = []
        func set(_ option: CURLoption, _ value: Int) {
            results.append(unsafe hid_curl_set_long(easy, option, value))
        }
        func set(_ option: CURLoption, _ value: String) {
            results.append(unsafe hid_curl_set_string(easy, option, value))
        }
        set(CURLOPT_URL, target.url)
        set(CURLOPT_CONNECT_ONLY, 1)
        set(CURLOPT_NOSIGNAL, 1)
        set(CURLOPT_PROXY, "")
        set(CURLOPT_NOPROXY, "*")
        set(CURLOPT_PROTOCOLS_STR, target.isTLS ? "https" : "http")
        set(CURLOPT_HTTP_VERSION, Int(CURL_HTTP_VERSION_1_1))
        set(CURLOPT_CONNECTTIMEOUT_MS, Int(clamping: target.connectTimeout.nanoseconds / 1_000_000))
        set(CURLOPT_TCP_NODELAY, 1)
        set(CURLOPT_TCP_KEEPALIVE, 1)
        // libcurl reads no more than this at once; the memory is not touched before it is used.
        set(CURLOPT_BUFFERSIZE, ReadScratch.size)
        set(CURLOPT_SSL_ENABLE_ALPN, 0)
        set(CURLOPT_SSL_VERIFYPEER, target.verifiesCertificate ? 1 : 0)
        set(CURLOPT_SSL_VERIFYHOST, target.verifiesCertificate ? 2 : 0)
        if let path = target.unixPath { set(CURLOPT_UNIX_SOCKET_PATH, path) }
        if let roots = target.certificateAuthorities { set(CURLOPT_CAINFO, roots) }
        if let entry = target.connectTo(address) {
            unsafe connectTo = curl_slist_append(nil, entry)
            results.append(unsafe hid_curl_set_pointer(easy, CURLOPT_CONNECT_TO, connectTo))
        }
        return results.allSatisfy { $0 == CURLE_OK } && configureMulti()
    }

    private func configureMulti() -> Bool {
        let multi = unsafe UnsafeMutableRawPointer(self.multi)
        let context = unsafe Unmanaged.passUnretained(self).toOpaque()
        let results = unsafe [
            hid_curl_multi_set_socket(multi) { _, descriptor, what, context, _ in
                guard let context = unsafe context else { return 0 }
                unsafe Unmanaged<CurlTransport>.fromOpaque(context).takeUnretainedValue()
                    .watch(descriptor, for: what)
                return 0
            },
            hid_curl_multi_set_pointer(multi, CURLMOPT_SOCKETDATA, context),
            hid_curl_multi_set_timer(multi) { _, milliseconds, context in
                guard let context = unsafe context else { return 0 }
                unsafe Unmanaged<CurlTransport>.fromOpaque(context).takeUnretainedValue()
                    .setTimer(milliseconds)
                return 0
            },
            hid_curl_multi_set_pointer(multi, CURLMOPT_TIMERDATA, context),
            hid_curl_multi_set_long(multi, CURLMOPT_MAXCONNECTS, 1),
        ]
        return results.allSatisfy { $0 == CURLM_OK }
    }

    /// Starts dialling; `completion` comes later on the loop, never from inside this call.
    func connect(completion: @escaping (UpstreamFault?) -> Void) {
        self.completion = completion
        timer = LoopTimer { [unowned self] in act(on: CURL_SOCKET_TIMEOUT, 0) }
        let added = unsafe curl_multi_add_handle(UnsafeMutableRawPointer(multi), UnsafeMutableRawPointer(easy))
        guard added == CURLM_OK else {
            loop.afterEvents { [weak self] in self?.finish(.connect) }
            return
        }
        loop.afterEvents { [weak self] in self?.act(on: CURL_SOCKET_TIMEOUT, 0) }
    }

    private func setTimer(_ milliseconds: Int) {
        guard let timer else { return }
        guard milliseconds >= 0 else { return timer.cancel() }
        loop.set(timer, after: Delay(.milliseconds(milliseconds)))
    }

    private func watch(_ descriptor: Int32, for what: Int32) {
        guard what != CURL_POLL_REMOVE else {
            watches.removeValue(forKey: descriptor)?.stop()
            return
        }
        var mask: UInt32 = 0
        if what & CURL_POLL_IN != 0 { mask |= hid_epoll_in }
        if what & CURL_POLL_OUT != 0 { mask |= hid_epoll_out }
        if let known = watches[descriptor] { return known.change(to: mask) }
        let watch = SocketWatch(descriptor: descriptor, loop: loop) { [unowned self] descriptor, events in
            act(on: descriptor, Self.selectBits(events))
        }
        watch.start(mask)
        watches[descriptor] = watch
    }

    private static func selectBits(_ events: UInt32) -> Int32 {
        var bits: Int32 = 0
        if events & hid_epoll_in != 0 { bits |= CURL_CSELECT_IN }
        if events & hid_epoll_out != 0 { bits |= CURL_CSELECT_OUT }
        if events & (hid_epoll_error | hid_epoll_hangup) != 0 { bits |= CURL_CSELECT_ERR }
        return bits
    }

    private func act(on descriptor: Int32, _ bits: Int32) {
        guard !isClosed, completion != nil else { return }
        var running: Int32 = 0
        let result = unsafe curl_multi_socket_action(UnsafeMutableRawPointer(multi), descriptor, bits, &running)
        guard result == CURLM_OK else { return finish(.connect) }
        var left: Int32 = 0
        while let message = unsafe curl_multi_info_read(UnsafeMutableRawPointer(multi), &left) {
            var done: Int32 = 0
            let code = unsafe hid_curl_message_result(message, &done)
            if done == 1 { return finish(Self.fault(code)) }
        }
    }

    private static func fault(_ code: CURLcode) -> UpstreamFault? {
        switch code {
        case CURLE_OK: nil
        case CURLE_COULDNT_RESOLVE_HOST: .resolve
        case CURLE_OPERATION_TIMEDOUT: .connectTimeout
        case CURLE_SSL_CONNECT_ERROR, CURLE_PEER_FAILED_VERIFICATION, CURLE_SSL_CACERT_BADFILE,
            CURLE_SSL_CERTPROBLEM, CURLE_SSL_CIPHER, CURLE_SSL_ISSUER_ERROR:
            .tls
        default: .connect
        }
    }

    private func finish(_ fault: UpstreamFault?) {
        guard let completion else { return }
        self.completion = nil
        timer?.cancel()
        stopWatching()
        var socket: curl_socket_t = -1
        if fault == nil {
            _ = unsafe hid_curl_get_socket(UnsafeMutableRawPointer(easy), &socket)
            descriptor = socket
        }
        completion(fault ?? (socket < 0 ? .connect : nil))
    }

    private func stopWatching() {
        for watch in watches.values { watch.stop() }
        watches = [:]
    }

    // MARK: - Carrying

    /// Sends from `offset` on.
    func send(_ bytes: [UInt8], from offset: Int) -> IOResult {
        var count = 0
        let code = unsafe bytes.withUnsafeBytes { source in
            unsafe curl_easy_send(
                UnsafeMutableRawPointer(easy), source.baseAddress.map { unsafe $0 + offset }, source.count - offset,
                &count)
        }
        switch code {
        case CURLE_OK: return .bytes(count)
        case CURLE_AGAIN: return .again
        default: return .failed(Int32(code.rawValue))
        }
    }

    /// Receives into `buffer`, from its start, at most `limit` octets.
    func receive(into buffer: inout [UInt8], limit: Int = .max) -> IOResult {
        var count = 0
        let code = unsafe buffer.withUnsafeMutableBytes { target in
            unsafe curl_easy_recv(
                UnsafeMutableRawPointer(easy), target.baseAddress, min(limit, target.count), &count)
        }
        switch code {
        case CURLE_OK: return count > 0 ? .bytes(count) : .endOfStream
        case CURLE_AGAIN: return .again
        default: return .failed(Int32(code.rawValue))
        }
    }

    /// Whether neither the socket nor the TLS library has anything for us, the end of the stream included.
    func hasNothingToRead() -> Bool {
        var probe: [UInt8] = [0]
        return receive(into: &probe) == .again
    }

    /// Closes the connection and frees libcurl's handles, once.
    func close() {
        guard !isClosed else { return }
        isClosed = true
        completion = nil
        timer?.cancel()
        stopWatching()
        unsafe curl_multi_remove_handle(UnsafeMutableRawPointer(multi), UnsafeMutableRawPointer(easy))
        unsafe curl_easy_cleanup(UnsafeMutableRawPointer(easy))
        unsafe curl_multi_cleanup(UnsafeMutableRawPointer(multi))
        unsafe curl_slist_free_all(connectTo)
    }
}
