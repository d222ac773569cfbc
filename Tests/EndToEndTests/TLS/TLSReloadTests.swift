// SPDX-License-Identifier: Apache-2.0
import Foundation
import HIDTesting
import Testing

/// Resumption, and certificates that change while the program runs.
@Suite(.timeLimit(.minutes(10))) struct TLSReloadTests {
    /// A ticket of a connection that has served a request.
    private func ticket(
        _ tls: TLSBench, _ version: TLSTestClient.Version
    ) throws -> (ticket: TLSTestTicket?, certificate: [UInt8]) {
        let link = try tls.dial { ($0.minimum, $0.maximum) = (version, version) }
        #expect(try LinkClient(link).exchange(get("/a"))?.status == 200)
        return (link.client.tickets.last ?? link.client.ticket, link.client.serverCertificate)
    }

    @Test(arguments: [TLSTestClient.Version.tls12, .tls13])
    func `a session is resumed on another connection, after a reload, and on another loop`(
        _ version: TLSTestClient.Version
    ) throws {
        let tls = try TLSBench { $0.loops = 2 }
        let (ticket, _) = try ticket(tls, version)
        for round in 0..<6 {
            if round == 3 {
                tls.reload()
                #expect(tls.bench.daemon.event("reload.done") != nil)
            }
            let link = try tls.dial {
                ($0.minimum, $0.maximum) = (version, version)
                $0.ticket = ticket
            }
            #expect(try LinkClient(link).exchange(get("/b"))?.status == 200)
            #expect(link.client.isResumed, "\(round)")
        }
    }

    @Test
    func
        `SIGHUP takes a new certificate for new connections and leaves the old ones alone (kong 2348, OpenShell 1836)`()
        throws
    {
        let tls = try TLSBench()
        let old = try tls.dial()
        let client = LinkClient(old)
        #expect(try client.exchange(get("/a"))?.status == 200)
        try TLSBench.write("main", tls.authority.server(["main.test"], serial: 0x1234), tls.folder)
        tls.reload()
        let event = tls.bench.daemon.event("tls.reloaded")
        #expect(event?["serial"].text?.lowercased().hasSuffix("1234") == true)
        let new = try tls.dial()
        #expect(new.client.serverCertificate != old.client.serverCertificate)
        #expect(try LinkClient(new).exchange(get("/b"))?.status == 200)
        #expect(try client.exchange(get("/c"))?.status == 200)
    }

    @Test(arguments: ["pair", "half", "empty", "gone"])
    func `files that are no good leave the old certificate and are an error of the log (vector 10877)`(_ kind: String)
        throws
    {
        let tls = try TLSBench()
        let before = try tls.dial().client.serverCertificate
        let next = try tls.authority.server(["main.test"], serial: 0x77)
        let pem = String(decoding: next.certificate, as: UTF8.self)
        switch kind {
        case "pair": try tls.folder.write("main.pem", pem)
        case "half": try tls.folder.write("main.pem", String(pem.prefix(pem.count / 2)))
        case "empty": try tls.folder.write("main.key", "")
        default: try FileManager.default.removeItem(atPath: tls.folder.path + "/main.key")
        }
        tls.reload()
        let event = tls.bench.daemon.child.firstLine { line in
            let json = JSONValue(line)
            return ["reload.failed", "tls.reload_failed"].contains(json?["event"].text ?? "") ? json : nil
        }
        #expect(event?["level"].text == "error")
        #expect("\(event as Any)".contains("main."))
        let link = try tls.dial()
        #expect(link.client.serverCertificate == before)
        #expect(try LinkClient(link).exchange(get("/a"))?.status == 200)
        try TLSBench.write("main", next, tls.folder)
        tls.reload()
        #expect(tls.bench.daemon.event("tls.reloaded") != nil)
        #expect(try tls.dial().client.serverCertificate == next.der)
    }
}
