// SPDX-License-Identifier: Apache-2.0

internal import CAres
internal import CLinux
internal import Glibc

/// Asks for the addresses of names, with their time to live: /etc/hosts first, then DNS (A and AAAA).
///
/// A wrapper of one c-ares channel whose sockets and timeouts are those of a loop. Confined to the loop; c-ares' own
/// callbacks come only from calls made here.
@safe final class NameResolver {
    typealias Answer = Result<ResolvedName, ResolverFault>

    private unowned let loop: EventLoop
    private let settings: ResolverSettings
    private var channel: OpaquePointer?
    private var watches: [Int32: SocketWatch] = [:]
    private var timer: LoopTimer?

    /// Addresses that are used of one name.
    private static let maximumAddresses = 128

    private static let isInitialised: Bool = ares_library_init(hid_ares_library_all) == hid_ares_success

    init(_ settings: ResolverSettings, loop: EventLoop) {
        self.settings = settings
        self.loop = loop
        timer = LoopTimer { [unowned self] in process(hid_ares_socket_bad, hid_ares_socket_bad) }
    }

    deinit { close() }

    /// Ends all questions; they are answered with a fault.
    func close() {
        timer?.cancel()
        if let channel = unsafe channel {
            unsafe self.channel = nil
            unsafe ares_destroy(channel)
        }
        for watch in watches.values { watch.stop() }
        watches = [:]
    }

    // MARK: - Questions

    /// One question under way; held by c-ares until its answer.
    private final class Question {
        let completion: (Answer) -> Void
        unowned let loop: EventLoop

        init(loop: EventLoop, _ completion: @escaping (Answer) -> Void) {
            self.loop = loop
            self.completion = completion
        }
    }

    /// Asks; the answer comes later on the loop, never from inside this call.
    func resolve(_ name: String, completion: @escaping (Answer) -> Void) {
        guard let channel = unsafe channel ?? open() else {
            return loop.afterEvents { completion(.failure(.init(description: "the resolver cannot start"))) }
        }
        let question = unsafe Unmanaged.passRetained(Question(loop: loop, completion)).toOpaque()
        var hints = ares_addrinfo_hints()
        hints.ai_family = AF_UNSPEC
        hints.ai_socktype = Int32(SOCK_STREAM.rawValue)
        hints.ai_flags = hid_ares_no_sort
        unsafe ares_getaddrinfo(
            channel, name, nil, &hints,
            { context, status, _, info in
                guard let context = unsafe context else { return }
                let question = unsafe Unmanaged<Question>.fromOpaque(context).takeRetainedValue()
                let answer = unsafe NameResolver.answer(status, info)
                question.loop.afterEvents { question.completion(answer) }
            }, question)
        armTimer()
    }

    /// Reads /etc/resolv.conf and /etc/hosts anew with the next question.
    ///
    /// Only while no question is under way: c-ares keeps what it read when it started.
    func forget() {
        guard watches.isEmpty else { return }
        close()
    }

    private func open() -> OpaquePointer? {
        guard Self.isInitialised else { return nil }
        var options = unsafe ares_options()
        // Two rounds, the second twice as long as the first.
        unsafe options.timeout = Int32(clamping: max(settings.timeout.nanoseconds / 3_000_000, 1))
        unsafe options.tries = 2
        unsafe options.sock_state_cb_data = Unmanaged.passUnretained(self).toOpaque()
        unsafe options.sock_state_cb = { context, descriptor, readable, writable in
            guard let context = unsafe context else { return }
            unsafe Unmanaged<NameResolver>.fromOpaque(context).takeUnretainedValue()
                .watch(descriptor, readable: readable != 0, writable: writable != 0)
        }
        var made: OpaquePointer?
        var lookups: [CChar] = [0x66, 0x62, 0]  // "fb": files, then DNS
        let status = unsafe lookups.withUnsafeMutableBufferPointer { text in
            unsafe options.lookups = text.baseAddress
            return unsafe ares_init_options(&made, &options, hid_ares_options)
        }
        guard status == hid_ares_success, let made = unsafe made else { return nil }
        let servers = settings.nameservers.joined(separator: ",")
        guard unsafe servers.isEmpty || ares_set_servers_ports_csv(made, servers) == hid_ares_success else {
            unsafe ares_destroy(made)
            return nil
        }
        unsafe channel = made
        return unsafe made
    }

    private static func answer(_ status: Int32, _ info: UnsafeMutablePointer<ares_addrinfo>?) -> Answer {
        defer { unsafe ares_freeaddrinfo(info) }
        guard status == hid_ares_success, let info = unsafe info else {
            return unsafe .failure(.init(description: String(cString: ares_strerror(status)).lowercased()))
        }
        var found = ResolvedName(addresses: [], life: .max)
        var node = unsafe info.pointee.nodes
        while let next = unsafe node, found.addresses.count < maximumAddresses {
            if let address = unsafe address(next.pointee), !found.addresses.contains(address) {
                found.addresses.append(address)
                unsafe found.life = min(found.life, Int(max(next.pointee.ai_ttl, 0)))
            }
            unsafe node = next.pointee.ai_next
        }
        guard !found.addresses.isEmpty else { return .failure(.init(description: "the name has no address")) }
        let routable = found.addresses.filter(SystemCall.hasRoute)
        if !routable.isEmpty { found.addresses = routable }
        return .success(found)
    }

    private static func address(_ node: ares_addrinfo_node) -> PeerAddress? {
        guard let source = unsafe node.ai_addr else { return nil }
        var storage = sockaddr_storage()
        let count = unsafe min(Int(node.ai_addrlen), MemoryLayout<sockaddr_storage>.size)
        unsafe withUnsafeMutableBytes(of: &storage) { target in
            unsafe target.copyMemory(from: UnsafeRawBufferPointer(start: source, count: count))
        }
        let address = PeerAddress(storage)
        return address.isLocal ? nil : address
    }

    // MARK: - Sockets and time

    private func watch(_ descriptor: Int32, readable: Bool, writable: Bool) {
        var mask: UInt32 = 0
        if readable { mask |= hid_epoll_in }
        if writable { mask |= hid_epoll_out }
        guard mask != 0 else {
            watches.removeValue(forKey: descriptor)?.stop()
            return
        }
        if let known = watches[descriptor] { return known.change(to: mask) }
        let watch = SocketWatch(descriptor: descriptor, loop: loop) { [unowned self] descriptor, events in
            let isReadable = events & (hid_epoll_in | hid_epoll_error | hid_epoll_hangup) != 0
            let isWritable = events & (hid_epoll_out | hid_epoll_error | hid_epoll_hangup) != 0
            process(isReadable ? descriptor : hid_ares_socket_bad, isWritable ? descriptor : hid_ares_socket_bad)
        }
        watch.start(mask)
        watches[descriptor] = watch
    }

    private func process(_ readable: Int32, _ writable: Int32) {
        guard let channel = unsafe channel else { return }
        unsafe ares_process_fd(channel, readable, writable)
        armTimer()
    }

    private func armTimer() {
        guard let channel = unsafe channel, let timer else { return }
        var left = timeval()
        guard unsafe ares_timeout(channel, nil, &left) != nil else { return timer.cancel() }
        let delay = Duration.seconds(left.tv_sec) + .microseconds(Int64(left.tv_usec)) + .milliseconds(1)
        loop.set(timer, after: Delay(delay))
    }
}
