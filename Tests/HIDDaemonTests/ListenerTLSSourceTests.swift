// SPDX-License-Identifier: Apache-2.0
import HIDCrypto
import HIDService
import HIDTesting
import Testing

@testable import HIDDaemon

@Suite struct ListenerTLSSourceTests {
    private func configuration(_ folder: ConfigurationFolder) throws -> ListenerTLSConfiguration {
        let (tls, faults) = folder.tls(
            """
                  certificate: main.pem
                  key: main.key
                  sni: [{ names: [api.example.com], certificate: api.pem, key: api.key }]
            """)
        #expect(faults == "")
        return try #require(tls)
    }

    @Test func `files that were replaced are taken over, and the others stay`() throws {
        let folder = try ListenerFiles.folder()
        let source = try ListenerTLSSource(configuration(folder), listener: "127.0.0.1:1")
        let before = source.context
        #expect(try source.reload().isEmpty)
        let renewed = try ListenerFiles.root.get().server(["api.example.com"], notAfter: 1_900_000_000, serial: 0x99)
        try folder.write("api", renewed)
        let changed = try source.reload()
        #expect(changed.map(\.name) == ["api.example.com"])
        #expect(changed.map(\.serial) == ["99"] && changed.map(\.notAfter) == [1_900_000_000])
        #expect(source.context !== before)
        #expect(source.expiries.map(\.name) == ["default", "api.example.com"])
        #expect(source.expiries.map(\.notAfter) == [2_524_608_000, 1_900_000_000])
    }

    @Test func `a bad pair leaves everything as it is`() throws {
        let folder = try ListenerFiles.folder()
        let source = try ListenerTLSSource(configuration(folder), listener: "127.0.0.1:1")
        let before = source.context
        // The default is good and new, the other one is half written.
        try folder.write("main", ListenerFiles.root.get().server(["main.example"], serial: 0x50))
        try folder.write("api.pem", ListenerFiles.wild.get().certificate)
        do throws(StartError) {
            _ = try source.reload()
            Issue.record("taken over")
        } catch {
            #expect(
                folder.removingFolder(error.description)
                    == "tls: 'key': 'api.key' is not the key of the first certificate, CN=*.example.com; "
                    + "the server's own certificate comes first")
            guard case .configuration = error else {
                Issue.record("not a fault of the configuration")
                return
            }
        }
        #expect(source.context === before)
        try folder.write("api.key", ListenerFiles.wild.get().key)
        #expect(try source.reload().map(\.name) == ["default", "api.example.com"])
    }

    @Test func `a missing file at the start is a fault of the configuration`() throws {
        let folder = try ListenerFiles.folder()
        var missing = try configuration(folder)
        missing.identity.key = "/nonexistent/key"
        do throws(StartError) {
            _ = try ListenerTLSSource(missing, listener: "a")
            Issue.record("started")
        } catch {
            #expect(error.description == "tls: 'key': cannot read '/nonexistent/key': no such file or directory")
        }
    }

    @Test func `the time that is left is counted from the wall clock`() throws {
        let folder = try ListenerFiles.folder()
        let source = try ListenerTLSSource(configuration(folder), listener: "a") { 2_524_608_010 }
        #expect(source.secondsLeft(of: "default") == -10)
        #expect(source.secondsLeft(of: "other") == nil)
        #expect(source.remarks.count == 2)
        #expect(source.remarks.allSatisfy { $0.contains("has expired") })
    }

    // MARK: - All listeners

    private func logged(_ log: MemoryLog) throws -> [JSONValue] {
        try log.lines.map { try #require(JSONValue($0)) }
    }

    @Test func `a reload of all listeners logs and shows what changed`() throws {
        let folder = try ListenerFiles.folder()
        let memory = MemoryLog()
        let registry = MetricsRegistry()
        let list = folder.listeners(
            """
            listeners:
              - address: 127.0.0.1:1
              - { address: 127.0.0.1:2, tls: { certificate: main.pem, key: main.key } }
            """
        ).listeners
        let sources = try ListenerTLSSources(
            list, names: ["127.0.0.1:1", "127.0.0.1:2"], log: Log(sink: .memory(memory)), registry: registry,
            metric: "x_tls_certificate_expiry_seconds")
        #expect(sources.list.count == 2 && sources.list[0] == nil && !sources.isEmpty)
        var text = String(decoding: registry.text(), as: UTF8.self)
        #expect(text.contains("x_tls_certificate_expiry_seconds{listener=\"127.0.0.1:2\",name=\"default\"} "))

        var changed = list
        changed[1].tls?.identity = .init(certificate: "\(folder.path)/api.pem", key: "\(folder.path)/api.key")
        changed[1].tls?.named = [
            .init(
                names: ["*.example.com"],
                identity: .init(certificate: "\(folder.path)/wild.pem", key: "\(folder.path)/wild.key"))
        ]
        sources.reload(changed)
        var events = try logged(memory)
        #expect(events.map { $0["event"].text } == ["tls.reloaded", "tls.reloaded"])
        #expect(events.first?["serial"].text == "2a" && events.first?["listener"].text == "127.0.0.1:2")
        #expect(events.last?["name"].text == "*.example.com")
        text = String(decoding: registry.text(), as: UTF8.self)
        #expect(text.contains("name=\"*.example.com\"} "))

        changed[1].tls?.identity.key = "\(folder.path)/main.key"
        sources.reload(changed)
        events = try logged(memory)
        #expect(events.last?["event"].text == "tls.reload_failed" && events.last?["level"].text == "error")
        #expect(sources.list[1]?.expiries.count == 2)

        // A name that is gone has no value, rather than an old one.
        sources.reload(list)
        text = String(decoding: registry.text(), as: UTF8.self)
        #expect(text.contains("name=\"*.example.com\"} NaN"))
    }
}
