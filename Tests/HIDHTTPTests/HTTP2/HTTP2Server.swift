// SPDX-License-Identifier: Apache-2.0
import CLinux
import Glibc
import HIDHTTP
import HIDTesting
import Synchronization

@testable import HIDHTTP
@testable import HIDTesting

/// One loop that serves HTTP/2 connections with `PathHandler`.
final class HTTP2Server: @unchecked Sendable {
    let loop: EventLoop
    /// What handlers were told, and the faults.
    let log = Monitor<[String]>([])
    let emptied = Gate()
    /// What the 257th request of a path `/wait` waits for, and the loop with it.
    let gate = Gate()
    private let group: ConnectionGroup
    private let factory: PathHandlerFactory

    init(
        header: Duration = .seconds(20), bodyIdle: Duration = .seconds(20), keepAlive: Duration = .seconds(20),
        write: Duration = .seconds(20)
    ) throws {
        loop = try EventLoop(index: 0)
        let settings = ServerSettings(
            limits: .test, headerTimeout: header, bodyIdleTimeout: bodyIdle, keepAliveTimeout: keepAlive,
            writeTimeout: write)
        factory = PathHandlerFactory(log: log, gate: gate)
        group = ConnectionGroup(
            loop: loop, settings: settings, budget: ConnectionBudget(limit: 10, limitPerClient: 10), factory: factory)
        group.onHTTP2Fault = { [log] fault, _, _ in log.withLock { $0.append(fault.code) } }
        loop.start()
    }

    deinit {
        // The group must outlive its connections, which only the loop may end.
        nonisolated(unsafe) let group = group
        loop.enqueue { _ = unsafe group.cut() }
        loop.stop()
    }

    func connect(early: [UInt8] = [], sendBuffer: Int32 = 0) throws -> HTTP2Client {
        var ends: [Int32] = [0, 0]
        let kind = Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue)
        guard unsafe socketpair(AF_UNIX, kind, 0, &ends) == 0 else { throw WireError.system("socketpair", errno) }
        let server = ends[0]
        _ = fcntl(server, F_SETFL, fcntl(server, F_GETFL) | O_NONBLOCK)
        if sendBuffer > 0 {
            var size = sendBuffer
            unsafe setsockopt(server, SOL_SOCKET, SO_SNDBUF, &size, 4)
        }
        loop.enqueue { [self] in
            group.carryHTTP2(
                OpenedConnection(
                    transport: ServerTransport(descriptor: server), peer: PeerEndpoint(address: .local, port: 0),
                    countedPeer: nil, listener: 0, early: early))
        }
        return HTTP2Client(Wire(adopting: ends[1]))
    }

    func drain() {
        loop.enqueue { [self] in group.drain { [emptied] in emptied.open() } }
    }

    func cut() {
        loop.enqueue { [self] in _ = group.cut() }
    }

    /// Whether a line of that beginning was logged before the deadline.
    func logged(_ start: String) -> Bool {
        log.wait { lines in lines.contains { $0.hasPrefix(start) } ? true : nil } ?? false
    }
}

final class PathHandlerFactory: ServerHandlerFactory {
    let log: Monitor<[String]>
    let gate: Gate
    private var waits = 0

    init(log: Monitor<[String]>, gate: Gate) {
        self.log = log
        self.gate = gate
    }

    func makeHandler(loop: EventLoop, listener: Int) -> any ServerHandler {
        PathHandler(log: log, factory: self)
    }

    /// Holds the loop at the 257th.
    func wait() {
        waits += 1
        guard waits == 257 else { return }
        log.withLock { $0.append("held at 257") }
        _ = gate.wait()
    }
}

/// Answers by the path of the request.
final class PathHandler: ServerHandler {
    private let log: Monitor<[String]>
    private let factory: PathHandlerFactory
    private var body: [UInt8] = []
    private var left = 0
    private var path = ""

    init(log: Monitor<[String]>, factory: PathHandlerFactory) {
        self.log = log
        self.factory = factory
    }

    private func note(_ line: String) { log.withLock { $0.append("\(path) \(line)") } }

    func requestBegan(_ stream: ServerStream) {
        path = String(decoding: stream.request.bytes[stream.request.target], as: UTF8.self)
        note("began \(stream.version)")
        switch path {
        case "/early": answer(stream, 403, "no")
        case "/hold":
            stream.pauseContent()
            log.withLock { $0.append("held") }
        case "/continue": stream.sendInterim(status: 100)
        case let path where path.hasPrefix("/turn/"): note("turn \(stream.loop.turns.load(ordering: .relaxed))")
        case let path where path.hasPrefix("/wait/"): factory.wait()
        default: break
        }
    }

    func requestContent(_ stream: ServerStream, _ content: Span<UInt8>) {
        for index in content.indices { body.append(content[index]) }
        note("content")
    }

    func requestEnded(_ stream: ServerStream) {
        note("ended \(body.count)")
        switch path {
        case "/never": break
        case "/big": startBig(stream, 4_000_000)
        case "/abort":
            stream.startResponse(status: 200, framing: .unknown) { _ in }
            stream.writeContent([1, 2, 3].span)
            stream.abort()
        case "/head":
            stream.startResponse(status: 200, framing: .none(announcing: 77)) { _ in }
            stream.endResponse()
        case "/empty":
            stream.startResponse(status: 204, framing: .none(announcing: nil)) { _ in }
            stream.endResponse()
        case "/trailers":
            stream.sendInterim(status: 103) { HeadWriter.field("Link", "</a>", into: &$0) }
            stream.startResponse(status: 200, framing: .unknown) { HeadWriter.field("Trailer", "x", into: &$0) }
            stream.writeContent(stream.trailers.span)
            stream.endResponse(trailers: Array("X-Sum: 9\r\n".utf8))
        default: answer(stream, 200, String(decoding: body, as: UTF8.self))
        }
    }

    private func answer(_ stream: ServerStream, _ status: Int, _ text: String) {
        let content = Array(text.utf8)
        stream.startResponse(status: status, framing: .length(UInt64(content.count)), closing: true) {
            HeadWriter.field("Content-Type", "text/plain", into: &$0)
        }
        stream.writeContent(content.span)
        stream.endResponse()
    }

    private func startBig(_ stream: ServerStream, _ count: Int) {
        stream.startResponse(status: 200, framing: .length(UInt64(count))) { _ in }
        left = count
        responseDrained(stream)
    }

    func requestFailed(_ stream: ServerStream, _ failure: RequestFailure) {
        note("failed \(failure)")
        switch failure {
        case .head(let fault): answer(stream, fault.status, "")
        case .http2: break
        default: answer(stream, 408, "late")
        }
    }

    func responseDrained(_ stream: ServerStream) {
        let chunk = [UInt8](repeating: 0x62, count: 20_000)
        while left > 0, !stream.isBackedUp {
            left -= chunk.count
            stream.writeContent(chunk.span)
        }
        if left == 0 { stream.endResponse() }
    }

    func responseEnded(_ stream: ServerStream) { note("done \(stream.bytesIn > 0) \(stream.bytesOut)") }
    func clientLost(_ stream: ServerStream, _ loss: ClientLoss) { note("lost \(loss)") }
}
