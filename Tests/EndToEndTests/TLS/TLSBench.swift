// SPDX-License-Identifier: Apache-2.0
import Foundation
import HIDTesting

/// A gateway whose listener speaks TLS, with certificates of an authority of its own.
final class TLSBench {
    let authority: TLSTestAuthority
    let clients: TLSTestAuthority
    let folder: TestFolder
    let bench: Bench
    private var setup: Bench.Setup

    /// `tls` holds further keys of the listener's section, `listener` of the listener itself.
    init(
        _ tls: String = "", listener: String = "", upstream: ScriptedUpstream? = nil,
        _ change: (inout Bench.Setup) -> Void = { _ in }
    ) throws {
        authority = try TLSTestAuthority()
        clients = try TLSTestAuthority("Clients")
        folder = try TestFolder()
        setup = Bench.Setup()
        setup.listeners = Self.listeners(tls, listener)
        change(&setup)
        try folder.write("clients.pem", String(decoding: clients.pem, as: UTF8.self))
        try Self.write("main", authority.server(["main.test"]), folder)
        try Self.write("other", authority.server(["other.test"], serial: 0x2A), folder)
        bench = try Bench(setup, upstream: upstream, folder: folder)
    }

    private static func listeners(_ tls: String, _ listener: String) -> String {
        "[ { address: \"127.0.0.1:0\"\(listener), tls: { certificate: main.pem, key: main.key\(tls) } } ]"
    }

    static func write(_ name: String, _ identity: TLSTestIdentity, _ folder: TestFolder) throws {
        try folder.write("\(name).pem", String(decoding: identity.certificate, as: UTF8.self))
        try folder.write("\(name).key", String(decoding: identity.key, as: UTF8.self))
    }

    /// Options of a client that believes the authority.
    func options(_ change: (inout TLSTestClient.Options) -> Void = { _ in }) -> TLSTestClient.Options {
        var options = TLSTestClient.Options()
        options.serverName = "main.test"
        options.authorities = authority.pem
        change(&options)
        return options
    }

    func dial(
        before: [UInt8] = [], receiveBuffer: Int32? = nil,
        _ change: (inout TLSTestClient.Options) -> Void = { _ in }
    ) throws -> TLSWire {
        try TLSWire(bench.address, options(change), before: before, receiveBuffer: receiveBuffer)
    }

    /// HTTP/1 over TLS.
    func client(_ change: (inout TLSTestClient.Options) -> Void = { _ in }) throws -> LinkClient {
        LinkClient(try dial(change))
    }

    /// HTTP/2 over TLS, past its SETTINGS.
    func http2(_ settings: [(UInt16, UInt32)] = []) throws -> HTTP2Client {
        let client = HTTP2Client(try dial { $0.protocols = ["h2"] })
        client.opensWindows = true
        try client.greet(settings)
        return client
    }

    /// Has the configuration and the files read again.
    func reload() { bench.daemon.child.signal(SIGHUP) }
}

extension Bench {
    /// Whether a metric, `name` with its labels, comes to that value before the deadline.
    func reaches(_ name: String, _ value: Int) -> Bool {
        IssuerBench.eventually { (try? metric(name)) == value }
    }
}

extension IssuerBench {
    /// Whether a metric, `name` with its labels, comes to that value before the deadline.
    func reaches(_ name: String, _ value: Double) -> Bool {
        IssuerBench.eventually { (try? metric(name)) == value }
    }
}

/// What a connection came to.
func failure(_ body: () throws -> Void) -> String? {
    do {
        try body()
        return nil
    } catch {
        return "\(error)"
    }
}
