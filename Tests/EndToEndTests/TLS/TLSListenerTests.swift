// SPDX-License-Identifier: Apache-2.0
import Foundation
import HIDCrypto
import HIDTesting
import Testing

/// TLS of a listener, on the built program.
@Suite(.timeLimit(.minutes(10))) struct TLSListenerTests {
    @Test(arguments: [TLSTestClient.Version.tls12, .tls13], ["http/1.1", "h2", nil])
    func `both versions and both protocols serve`(_ version: TLSTestClient.Version, _ name: String?) throws {
        let tls = try TLSBench()
        let link = try tls.dial {
            ($0.minimum, $0.maximum) = (version, version)
            $0.protocols = name.map { [$0] }
        }
        #expect(link.client.applicationProtocol == name)
        let id: String?
        if name == "h2" {
            let client = HTTP2Client(link)
            try client.greet()
            let answer = try client.exchange("GET", "/a")
            #expect(answer.status == 200)
            #expect(answer.text == "ok")
            id = answer["x-request-id"]
        } else {
            let answer = try LinkClient(link).exchange(get("/a"))
            #expect(answer?.status == 200)
            #expect(answer?.text == "ok")
            id = answer?["X-Request-Id"]
        }
        #expect(tls.bench.upstream.requests.first?["X-Forwarded-Proto"] == "https")
        let line = tls.bench.daemon.accessLine { $0["request_id"].text == id }
        #expect(line?["tls"].text == (version == .tls12 ? "1.2" : "1.3"))
        #expect(line?["protocol"].text == (name == "h2" ? "HTTP/2" : "HTTP/1.1"))
    }

    @Test func `without TLS the log says null and the upstream http`() throws {
        let bench = try Bench()
        let answer = try bench.once(get("/a"))
        #expect(bench.line(of: answer)?["tls"] == .null)
        #expect(bench.upstream.requests.first?["X-Forwarded-Proto"] == "http")
    }

    @Test func `the server name picks the certificate`() throws {
        let tls = try TLSBench(", sni: [ { names: [other.test], certificate: other.pem, key: other.key } ]")
        let main = try tls.dial().client.serverCertificate
        let other = try tls.dial { $0.serverName = "other.test" }.client.serverCertificate
        let none = try tls.dial {
            $0.serverName = nil
            $0.authorities = nil
        }.client.serverCertificate
        #expect(main != other)
        #expect(none == main)
    }

    @Test func `plain HTTP, an old version and a foreign protocol are refused and counted`() throws {
        let tls = try TLSBench()
        let plain = try RawClient(tls.bench.address)
        try plain.send(get("/a"))
        #expect(plain.wire.isEnded())
        #expect(failure { _ = try tls.dial { ($0.minimum, $0.maximum) = (.tls11, .tls11) } } != nil)
        #expect(failure { _ = try tls.dial { $0.protocols = ["spdy/1"] } } != nil)
        let bench = tls.bench
        for (name, count) in [
            ("hidgate_tls_handshakes_failed_total{reason=\"not_tls\"}", 1),
            ("hidgate_tls_handshakes_failed_total{reason=\"unsupported_version\"}", 1),
            ("hidgate_tls_handshakes_failed_total{reason=\"no_shared_protocol\"}", 1),
            ("hidgate_openings_failed_total{cause=\"handshake\"}", 3),
        ] { #expect(bench.reaches(name, count), "\(name)") }
        #expect(try tls.client().exchange(get("/a"))?.status == 200)
        #expect(bench.upstream.requests.count == 1)
    }

    @Test func `a client certificate goes to the upstream, and a field of the client's own does not`() throws {
        let tls = try TLSBench(", client_ca: clients.pem")
        let identity = try tls.clients.client("phone")
        let forged = "Client-Cert: :AAAA:\r\nClient-Cert-Chain: :AAAA:\r\n"
        let with = try tls.client { $0.identity = identity }
        #expect(try with.exchange(get("/with", fields: forged))?.status == 200)
        #expect(try tls.client().exchange(get("/without", fields: forged))?.status == 200)
        let requests = tls.bench.upstream.requests
        let der = String(decoding: Base64.encode(identity.der.span), as: UTF8.self)
        #expect(requests.first?.all("Client-Cert") == [":\(der):"])
        #expect(requests.last?.target == "/without")
        #expect(requests.last?.all("Client-Cert").isEmpty == true)
        #expect(requests.allSatisfy { $0.all("Client-Cert-Chain").isEmpty })
    }

    @Test func `a required certificate must be there and of the right authority`() throws {
        let tls = try TLSBench(", client_ca: clients.pem, client_auth: required")
        let good = try tls.clients.client("phone")
        let foreign = try tls.authority.client("stranger")
        #expect(try tls.client { $0.identity = good }.exchange(get("/a"))?.status == 200)
        for identity in [nil, foreign] {
            let fault = failure {
                let client = try tls.client { $0.identity = identity }
                if try client.exchange(get("/bad")) == nil { throw WireError.reset }
            }
            #expect(fault != nil)
        }
        #expect(tls.bench.upstream.requests.map(\.target) == ["/a"])
        let bench = tls.bench
        for reason in ["certificate_required", "unknown_ca"] {
            #expect(
                bench.reaches("hidgate_tls_handshakes_failed_total{reason=\"\(reason)\"}", 1), "\(reason)")
        }
    }

    @Test func `a critical request passes with token and signature, and not without`() throws {
        let tls = try TLSBench()
        let client = try tls.client()
        #expect(try client.exchange(Bench.post(body: [1]))?.status == 403)
        #expect(try client.exchange(tls.bench.good())?.status == 200)
        #expect(tls.bench.upstream.requests.count == 1)
    }

    @Test func `handshakes that stop half-way are cut at the header timeout and leave nothing`() throws {
        let tls = try TLSBench { $0.sections = "timeouts: { header: 2s }" }
        let bench = tls.bench
        #expect(try tls.client().exchange(get("/a"))?.status == 200)
        let hello = try {
            let client = try TLSTestClient(tls.options())
            _ = client.shake()
            return client.takeOutput()
        }()
        #expect(bench.reaches("hidgate_connections", 0))
        let before = bench.descriptors
        let wires = try (0..<100).map { number in
            let wire = try Wire.connect(to: bench.address)
            // Nothing, a part of the ClientHello, or all of it and no answer to the server's.
            try wire.send(Array(hello.prefix(number % 3 == 0 ? 0 : number % 3 == 1 ? 50 : hello.count)))
            return wire
        }
        let start = ContinuousClock.now
        #expect(try tls.client().exchange(get("/b"))?.status == 200)
        for wire in wires { #expect(wire.isEnded()) }
        #expect(ContinuousClock.now - start > .seconds(1))
        #expect(IssuerBench.eventually { bench.descriptors <= before })
        #expect(try bench.metric("hidgate_openings_failed_total{cause=\"timeout\"}") == 100)
        #expect(try tls.client().exchange(get("/c"))?.status == 200)
    }
}
