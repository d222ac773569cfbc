// SPDX-License-Identifier: Apache-2.0
import Foundation
import HIDTesting
import Testing

/// hisd over TLS.
@Suite(.timeLimit(.minutes(10))) struct TLSIssuerTests {
    private struct Server {
        let his: IssuerBench
        let authority: TLSTestAuthority

        init() throws {
            authority = try TLSTestAuthority()
            let folder = try TestFolder()
            try TLSBench.write("main", authority.server(["his.test"]), folder)
            his = try IssuerBench(
                .init(listener: "{ address: \"127.0.0.1:0\", tls: { certificate: main.pem, key: main.key } }"),
                folder: folder)
        }

        func dial(_ name: String?) throws -> TLSWire {
            var options = TLSTestClient.Options()
            options.serverName = "his.test"
            options.authorities = authority.pem
            options.protocols = name.map { [$0] }
            return try TLSWire(his.address, options)
        }
    }

    @Test func `challenges and keys come over both protocols`() throws {
        let server = try Server()
        let one = LinkClient(try server.dial("http/1.1"))
        #expect(try one.exchange("GET /.well-known/jwks.json HTTP/1.1\r\nHost: his.test\r\n\r\n")?.status == 200)
        let body = Array("{\"app_id\":\"app-1\",\"device_id\":\"d\",\"platform\":\"test\"}".utf8)
        let head = "POST /v1/m/hid/c HTTP/1.1\r\nHost: his.test\r\nContent-Type: application/json\r\n"
        let first = try one.exchange(Array("\(head)Content-Length: \(body.count)\r\n\r\n".utf8) + body)
        let two = HTTP2Client(try server.dial("h2"))
        try two.greet()
        #expect(try two.exchange("GET", "/.well-known/jwks.json").status == 200)
        let stream = try two.post("/v1/m/hid/c", [("content-type", "application/json")], body: body)
        let second = try two.response(stream)
        #expect(second.status == first?.status)
        #expect((first?.status ?? 0) == 200)
        #expect(try server.his.metric("hisd_challenges_total") == 2)
    }

    @Test func `what is cut has a name there, too`() throws {
        let server = try Server()
        let client = HTTP2Client(try server.dial("h2"))
        try client.greet()
        try client.send(HTTP2Wire.frame(6, [1]))
        #expect(try client.isClosed())
        #expect(server.his.daemon.event("http2.cut")?["fault"].text == "http2.frame_size")
        #expect(try server.his.metric("hisd_http2_faults_total{fault=\"http2.frame_size\"}") == 1)
        let plain = try RawClient(server.his.address)
        try plain.send(get("/a"))
        #expect(plain.wire.isEnded())
        #expect(
            server.his.reaches("hisd_tls_handshakes_failed_total{reason=\"not_tls\"}", 1))
    }
}
