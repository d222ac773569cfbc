// SPDX-License-Identifier: Apache-2.0

internal import Dispatch
internal import Glibc
internal import HIDHTTP
internal import HIDService
internal import Synchronization

/// One loop with its connections.
///
/// The calls here come from outside the loop and are carried to it.
final class Lane: @unchecked Sendable {
    let loop: EventLoop
    /// Confined to the loop, once it runs.
    private let group: ConnectionGroup
    private let services: LoopServices?

    init(loop: EventLoop, group: ConnectionGroup, services: LoopServices?) {
        self.loop = loop
        self.group = group
        self.services = services
    }

    var refused: Int { group.refused.load(ordering: .relaxed) }

    /// Starts the loop and accepts on the sockets.
    func open(_ sockets: [ListeningSocket]) {
        loop.start()
        let opened = DispatchSemaphore(value: 0)
        loop.enqueue { [self] in
            for (index, socket) in sockets.enumerated() { try? group.listen(on: socket, listener: index) }
            opened.signal()
        }
        opened.wait()
    }

    func drain(done: @escaping @Sendable () -> Void) {
        loop.enqueue { [self] in
            group.drain { [self] in
                services?.closeIdleUpstreams()
                done()
            }
        }
    }

    /// Cuts what is left and returns how many connections that were.
    func cut() -> Int {
        let done = DispatchSemaphore(value: 0)
        let count = CutCount()
        loop.enqueue { [self] in
            count.value = group.cut()
            done.signal()
        }
        _ = done.wait(timeout: .now() + .seconds(1))
        return count.value
    }
}

/// Written on the loop before the semaphore that its reader waits for.
private final class CutCount: @unchecked Sendable {
    var value = 0
}

/// The sockets of all listeners, one set for each loop.
struct BoundListeners {
    /// With the ports that were really bound.
    private(set) var names: [String] = []
    /// By loop, then by listener.
    private(set) var sockets: [[ListeningSocket]]

    init(_ configuration: GatewayConfiguration, loops: Int, sockets: ServiceSockets) throws(GatewayError) {
        try self.init(configuration.listeners.map(\.address), loops: loops, sockets: sockets)
    }

    init(_ addresses: [ListenAddress], loops: Int, sockets services: ServiceSockets) throws(GatewayError) {
        sockets = Array(repeating: [], count: loops)
        for address in addresses {
            do {
                let (name, bound) = try Self.bind(address, loops: loops, services)
                names.append(name)
                for (loop, socket) in bound.enumerated() { sockets[loop].append(socket) }
            } catch let error as GatewayError {
                throw error
            } catch {
                throw .startup("cannot listen on \(address.text): \(error)")
            }
        }
    }

    private static func bind(
        _ address: ListenAddress, loops: Int, _ services: ServiceSockets
    ) throws -> (String, [ListeningSocket]) {
        switch address {
        case .tcp(let host, let port):
            let first = try ListeningSocket.tcp(host: host, port: port, shared: loops > 1)
            var all = [first]
            while all.count < loops { all.append(try ListeningSocket.tcp(host: host, port: first.port, shared: true)) }
            return (ListenAddress.tcp(host: host, port: first.port).text, all)
        case .unix(let path):
            return (address.text, try copies(of: try ListeningSocket.unix(path: path), loops))
        case .descriptor(let name):
            guard let descriptor = services[name].first else {
                throw GatewayError.startup("the service manager passed no socket named '\(name)' (LISTEN_FDNAMES)")
            }
            return (address.text, try copies(of: try ListeningSocket(adopting: descriptor), loops))
        }
    }

    private static func copies(of socket: ListeningSocket, _ count: Int) throws -> [ListeningSocket] {
        var all = [socket]
        while all.count < count { all.append(try socket.duplicate()) }
        return all
    }
}

extension ListenAddress {
    /// As it stands in the configuration.
    package var text: String {
        switch self {
        case .tcp(let host, let port): host.contains(":") ? "[\(host)]:\(port)" : "\(host):\(port)"
        case .unix(let path): "unix:\(path)"
        case .descriptor(let name): "fd:\(name)"
        }
    }
}

/// What the machine has.
enum SystemFacts {
    /// Processors this process may use.
    static var cores: Int {
        Int(sysconf(Int32(_SC_NPROCESSORS_ONLN)))
    }
}
