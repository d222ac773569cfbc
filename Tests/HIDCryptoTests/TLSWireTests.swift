// SPDX-License-Identifier: Apache-2.0
import Foundation
import HIDCrypto
import HIDTesting
import Testing

/// What comes over the wire in pieces, changed, cut off, or not at all.
@Suite(.timeLimit(.minutes(10))) struct TLSWireTests {
    typealias Version = TLSTestClient.Version

    private func link(_ version: Version, socketBuffer: Int32? = nil) throws -> TLSLink {
        let link = try TLSLink(
            TLSFixture.context(), TLSFixture.options { $0.maximum = version }, socketBuffer: socketBuffer)
        try #require(link.shake() == .done)
        return link
    }

    private func hello() throws -> [UInt8] {
        let client = try TLSTestClient(
            TLSFixture.options {
                $0.serverName = "api.example.com"
                $0.protocols = ["h2"]
            })
        _ = client.shake()
        return client.takeOutput()
    }

    // MARK: - Before TLS

    @Test(arguments: [
        "GET / HTTP/1.1\r\nHost: a\r\n\r\n", "POST /login HTTP/1.1\r\n\r\n", "CONNECT a:1 HTTP/1.1\r\n\r\n",
        "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", "PROXY TCP4 1.1.1.1 2.2.2.2 1 2\r\n", "SSH-2.0-x\r\n",
        "\r\n\r\n\r\n", "\u{0}\u{0}\u{0}\u{0}\u{0}\u{0}\u{0}\u{0}\u{0}\u{0}\u{0}",
    ])
    func `what is no TLS is told from TLS`(text: String) throws {
        let link = try TLSLink(TLSFixture.context())
        link.wire(Array(text.utf8))
        link.serve()
        #expect(link.server.fault?.reason == .notTLS, "\(String(describing: link.server.fault))")
        #expect(link.server.receive(into: &link.buffer) == link.last)
    }

    @Test func `random first octets fail, or wait for more`() throws {
        let context = try TLSFixture.context()
        var random = SystemRandomNumberGenerator()
        for _ in 0..<300 {
            let link = try TLSLink(context)
            link.wire((0..<Int.random(in: 1...400, using: &random)).map { _ in UInt8.random(in: 0...255) })
            link.serve()
            link.halfClose()
            link.serve()
            #expect(link.server.fault != nil && link.received.isEmpty && !link.server.isEstablished)
        }
    }

    @Test func `a hello that ends at any octet is a closed connection`() throws {
        let (context, hello) = (try TLSFixture.context(), try hello())
        #expect(hello.count > 150)
        for count in hello.indices {
            let link = try TLSLink(context)
            link.wire(Array(hello.prefix(count)))
            link.serve()
            #expect(link.last == .again)
            link.halfClose()
            link.serve()
            #expect(link.server.fault?.reason == .closed)
            #expect(link.server.fault?.detail.contains("first octet") == (count == 0))
            #expect(!link.server.isTruncated)
        }
    }

    @Test func `a hello with a changed octet never traps`() throws {
        let (context, hello) = (try TLSFixture.context(), try hello())
        var reasons: [TLSSessionFault.Reason: Int] = [:]
        for index in hello.indices {
            for bit in [UInt8(1), 0x80] {
                var changed = hello
                changed[index] ^= bit
                let link = try TLSLink(context)
                link.wire(changed)
                link.halfClose()
                link.serve()
                link.serve()
                let fault = try #require(link.server.fault)
                reasons[fault.reason, default: 0] += 1
                #expect(link.received.isEmpty && !link.server.isEstablished)
            }
        }
        #expect(reasons[.malformed] ?? 0 > 0 && reasons[.closed] ?? 0 > 0 && reasons[.internal] == nil, "\(reasons)")
    }

    // MARK: - In pieces

    @Test(arguments: [Version.tls12, .tls13])
    func `a handshake may come octet by octet`(version: Version) throws {
        let link = try TLSLink(TLSFixture.context(), TLSFixture.options { $0.maximum = version })
        #expect(link.shake(piece: 1) == .done)
        _ = link.client.write([1, 2, 3])
        for octet in link.client.takeOutput() {
            #expect(link.received.isEmpty)
            link.wire([octet])
            link.serve()
        }
        #expect(link.received == [1, 2, 3])
    }

    @Test(arguments: [Version.tls12, .tls13])
    func `several records in one piece come out one after the other`(version: Version) throws {
        let link = try link(version)
        for number in 0..<5 { _ = link.client.write([UInt8(number), 0xFF]) }
        link.wire(link.client.takeOutput())
        #expect(link.server.receive(into: &link.buffer) == .bytes(2))
        #expect(link.server.hasBufferedInput)
        link.serve()
        #expect(link.received == [1, 0xFF, 2, 0xFF, 3, 0xFF, 4, 0xFF])
        #expect(!link.server.hasBufferedInput && link.last == .again)
    }

    @Test func `a buffer smaller than a record is filled again and again`() throws {
        let link = try link(.tls13)
        let sent = (0..<10_000).map { UInt8(truncatingIfNeeded: $0 &* 7) }
        link.buffer = [UInt8](repeating: 0, count: 100)
        link.ask(sent)
        #expect(link.received == sent)
        link.buffer = []
        #expect(link.server.receive(into: &link.buffer) == .bytes(0))
    }

    @Test(arguments: [Version.tls12, .tls13])
    func `more than the socket takes goes out in parts`(version: Version) throws {
        let link = try link(version, socketBuffer: 4096)
        let sent = (0..<3_000_000).map { UInt8(truncatingIfNeeded: $0 &* 31 >> 3) }
        var (offset, waits) = (0, 0)
        while offset < sent.count {
            // Each time from other memory: the rest has moved.
            switch link.server.send(Array(sent[offset...].prefix(400_000)), from: 0) {
            case .bytes(let count): offset += count
            case .again:
                waits += 1
                #expect(link.server.closeWrite() == .again)
                #expect(link.carry())
                link.answered += link.client.read().bytes
            case let other:
                Issue.record("\(other)")
                return
            }
        }
        link.carry()
        link.answered += link.client.read().bytes
        #expect(waits > 3 && link.answered == sent)
        #expect(link.server.closeWrite() == .bytes(0))
    }

    @Test func `offsets outside send nothing`() throws {
        let link = try link(.tls13)
        for offset in [-1, 3, 4, Int.max, Int.min] { #expect(link.server.send([1, 2, 3], from: offset) == .bytes(0)) }
        #expect(link.server.send([], from: 0) == .bytes(0))
        #expect(link.answer([9]) == .bytes(1))
        #expect(link.answered == [9])
    }

    // MARK: - Against the rules

    @Test func `another handshake on the connection is refused`() throws {
        let link = try link(.tls12)
        _ = link.client.renegotiate()
        link.wire(link.client.takeOutput())
        link.serve()
        link.carry()
        #expect(link.client.shake() == .failed("no renegotiation"))
        #expect(link.received.isEmpty)
    }

    @Test(arguments: [Version.tls12, .tls13])
    func `a record with a changed octet is a fault`(version: Version) throws {
        let plain = try link(version)
        _ = plain.client.write(Array("transfer 1".utf8))
        let size = plain.client.takeOutput().count
        for index in 5..<size {
            let link = try link(version)
            _ = link.client.write(Array("transfer 1".utf8))
            var record = link.client.takeOutput()
            record[index] ^= 1
            link.wire(record)
            link.serve()
            #expect(link.server.fault?.reason == .badRecord, "\(String(describing: link.server.fault))")
            #expect(link.received.isEmpty)
        }
    }

    // MARK: - The end

    @Test(arguments: [Version.tls12, .tls13])
    func `the client's close_notify ends its direction only`(version: Version) throws {
        let link = try link(version)
        _ = link.client.write([5])
        link.client.close()
        link.wire(link.client.takeOutput())
        link.halfClose()
        link.serve()
        #expect(link.received == [5] && link.last == .endOfStream)
        #expect(!link.server.isTruncated && link.server.fault == nil)
        #expect(link.server.receive(into: &link.buffer) == .endOfStream)
        if case .bytes = link.server.send([1], from: 0) {} else { Issue.record("the answer does not go out") }
        #expect(link.server.closeWrite() == .bytes(0))
        #expect(link.server.closeWrite() == .bytes(0))
    }

    @Test(arguments: [Version.tls12, .tls13])
    func `our close_notify reaches the client, who may go on`(version: Version) throws {
        let link = try link(version)
        #expect(link.answer([7]) == .bytes(1))
        #expect(link.server.closeWrite() == .bytes(0))
        link.carry()
        #expect(link.client.read().outcome == .ended)
        #expect(link.answered == [7])
        if version == .tls13 {
            link.ask([8])
            #expect(link.received == [8])
        }
    }

    @Test(arguments: [Version.tls12, .tls13])
    func `an end without close_notify is marked, and can still be answered`(version: Version) throws {
        let link = try link(version)
        link.ask([5])
        link.halfClose()
        link.serve()
        #expect(link.last == .endOfStream && link.server.isTruncated && link.server.fault == nil)
        #expect(link.answer([6, 7]) == .bytes(2))
        #expect(link.answered == [6, 7])
        #expect(link.server.closeWrite() == .bytes(0))
    }

    @Test func `an end within a record is marked`() throws {
        let link = try link(.tls13)
        _ = link.client.write([UInt8](repeating: 1, count: 100))
        link.wire(Array(link.client.takeOutput().dropLast(3)))
        link.halfClose()
        link.serve()
        #expect(link.last == .endOfStream && link.server.isTruncated && link.received.isEmpty)
    }

    @Test func `a client that is gone is a fault and no signal`() throws {
        let link = try link(.tls13)
        link.closeClient()
        guard case .failed(let fault) = link.server.send([1, 2, 3], from: 0) else {
            Issue.record("sent to nobody")
            return
        }
        #expect(fault.reason == .connection && fault.detail == "Broken pipe")
        #expect(link.server.closeWrite() == .failed(fault))
        #expect(link.server.receive(into: &link.buffer) == .failed(fault))
    }

    @Test func `nothing is closed in order before the handshake`() throws {
        let link = try TLSLink(TLSFixture.context())
        #expect(link.server.closeWrite() == .bytes(0))
        #expect(link.server.send([1], from: 0) == .again)
        #expect(link.server.sendWaitsForReading)
        #expect(link.shake() == .done)
        #expect(link.answer([1]) == .bytes(1))
        #expect(!link.server.sendWaitsForReading)
    }

    // MARK: - Memory

    private func residentKiB() throws -> Int {
        let text = try String(contentsOfFile: "/proc/self/statm", encoding: .utf8)
        return try #require(text.split(separator: " ").dropFirst().first.flatMap { Int($0) }) * 4
    }

    @Test func `thousands of handshakes and contexts leave nothing behind`() throws {
        let context = try TLSFixture.context()
        let hello = try hello()
        /// One connection in one of four states; the closure says whether its session is gone.
        func connect(_ number: Int) throws -> () -> Bool {
            let link = try TLSLink(context)
            switch number % 4 {
            case 0: link.wire(hello)
            case 1: link.wire(Array(hello.prefix(number % hello.count)))
            case 2: link.wire(Array("GET / HTTP/1.1\r\n\r\n".utf8))
            default: link.shake()
            }
            link.serve()
            weak let session: TLSServerSession? = link.server
            return { session == nil }
        }
        func round(_ count: Int) throws {
            for number in 0..<count {
                let isGone = try connect(number)
                #expect(isGone())
            }
            for _ in 0..<count / 20 { _ = try TLSFixture.context() }
        }
        try round(400)
        let before = try residentKiB()
        try round(2000)
        // A session that stays costs 20 KiB and more; other tests run beside this one.
        #expect(try residentKiB() - before < 30_000)
    }
}
