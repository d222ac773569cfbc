// SPDX-License-Identifier: Apache-2.0

package import HIDHTTP
package import HIDService

/// The sockets of all listeners, one set for each loop.
package struct BoundListeners {
    /// With the ports that were really bound.
    package private(set) var names: [String] = []
    /// By loop, then by listener.
    package private(set) var sockets: [[ListeningSocket]]

    /// Binds every address for every loop.
    package init(_ addresses: [AddressText], loops: Int, sockets services: ServiceSockets) throws(StartError) {
        sockets = Array(repeating: [], count: loops)
        for address in addresses {
            do {
                let (name, bound) = try Self.bind(address, loops: loops, services)
                names.append(name)
                for (loop, socket) in bound.enumerated() { sockets[loop].append(socket) }
            } catch let error as StartError {
                throw error
            } catch {
                throw .startup("cannot listen on \(address.text): \(error)")
            }
        }
    }

    private static func bind(
        _ address: AddressText, loops: Int, _ services: ServiceSockets
    ) throws -> (String, [ListeningSocket]) {
        switch address {
        case .tcp(let host, let port):
            let first = try ListeningSocket.tcp(host: host, port: port, shared: loops > 1)
            var all = [first]
            while all.count < loops { all.append(try ListeningSocket.tcp(host: host, port: first.port, shared: true)) }
            return (AddressText.tcp(host: host, port: first.port).text, all)
        case .unix(let path):
            return (address.text, try copies(of: try ListeningSocket.unix(path: path), loops))
        case .descriptor(let name):
            guard let descriptor = services[name].first else {
                throw StartError.startup("the service manager passed no socket named '\(name)' (LISTEN_FDNAMES)")
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
