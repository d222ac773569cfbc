// SPDX-License-Identifier: Apache-2.0

import HIDHTTP
import Synchronization

/// An upstream for loads: answers at once, after a while, with many octets, or swallows what comes.
///
/// `/delay/MS` and `/hold/MS` answer after that time, `/bytes/N` with so many octets, `/sink/slow` takes a body at 1 MB/s for its
/// first seconds, everything else takes what comes and answers 200 with two octets.
final class SinkServer: ServerHandlerFactory {
    func makeHandler(loop: EventLoop, listener: Int) -> any ServerHandler { SinkHandler() }

    /// Listens on a free port of 127.0.0.1 and returns it; lives as long as the process.
    static func start() throws(BenchError) -> UInt16 {
        do {
            let loop = try EventLoop(index: 0, label: "hidbench.upstream")
            let socket = try ListeningSocket.tcp(host: "127.0.0.1", port: 0, shared: false)
            loop.start()
            let holder = SinkHolder()
            loop.value {
                let settings = ServerSettings(
                    limits: HeadLimits(), headerTimeout: .seconds(3600), bodyIdleTimeout: .seconds(3600),
                    keepAliveTimeout: .seconds(3600), writeTimeout: .seconds(3600))
                let group = ConnectionGroup(
                    loop: loop, settings: settings,
                    budget: ConnectionBudget(limit: 1_000_000, limitPerClient: 1_000_000), factory: SinkServer())
                holder.group = group
                try? group.listen(on: socket, listener: 0)
            }
            SinkHolder.kept.withLock { $0 = holder }
            return socket.port
        } catch {
            throw .failure("cannot listen: \(error)")
        }
    }
}

/// Keeps the group of the upstream.
///
/// Confined to the loop, but for its making.
private final class SinkHolder: @unchecked Sendable {
    var group: ConnectionGroup?

    /// It lives as long as the process.
    static let kept = Mutex<SinkHolder?>(nil)
}

/// One connection of the upstream.
private final class SinkHandler: ServerHandler {
    private enum Work { case answer, delay(Int), octets(Int), slowly }

    private var work = Work.answer
    private var left = 0
    private var ticks = 0
    private var isComplete = false
    private var timer: LoopTimer?
    private static let piece = [UInt8](repeating: 0x61, count: 64 << 10)
    /// A tenth of a second at 1 MB/s, and how many of them there are.
    private static let slowPiece = 100_000
    private static let slowTicks = 20

    func requestBegan(_ stream: ServerStream) {
        work = Self.work(of: stream.request)
        isComplete = false
        if case .slowly = work {
            (left, ticks) = (Self.slowPiece, 0)
            later(100, stream) { handler, stream in handler.takeMore(stream) }
        }
    }

    private static func work(of request: RequestHead) -> Work {
        let parts = request.bytes[request.target].split(separator: UInt8(ascii: "/"))
        guard let first = parts.first else { return .answer }
        let number = parts.count > 1 ? Int(String(decoding: parts[1], as: UTF8.self)) : nil
        switch (String(decoding: first, as: UTF8.self), number) {
        case ("delay", let milliseconds?), ("hold", let milliseconds?): return .delay(min(max(milliseconds, 0), 60_000))
        case ("bytes", let count?): return .octets(min(max(count, 0), 1 << 31))
        case ("sink", nil) where parts.count > 1: return .slowly
        default: return .answer
        }
    }

    func requestContent(_ stream: ServerStream, _ content: Span<UInt8>) {
        guard case .slowly = work, ticks < Self.slowTicks else { return }
        left -= content.count
        if left <= 0 { stream.pauseContent() }
    }

    private func takeMore(_ stream: ServerStream) {
        ticks += 1
        left = Self.slowPiece
        stream.resumeContent()
        if ticks < Self.slowTicks, !isComplete {
            later(100, stream) { handler, stream in handler.takeMore(stream) }
        }
    }

    func requestEnded(_ stream: ServerStream) {
        isComplete = true
        switch work {
        case .answer, .slowly: answer(stream)
        case .delay(let milliseconds): later(milliseconds, stream) { $0.answer($1) }
        case .octets(let count):
            left = count
            stream.startResponse(status: 200, framing: .length(UInt64(count))) { _ in }
            pour(stream)
        }
    }

    private func answer(_ stream: ServerStream) {
        stream.startResponse(status: 200, framing: .length(2)) { _ in }
        let content: [UInt8] = [0x6F, 0x6B]
        stream.writeContent(content.span)
        stream.endResponse()
    }

    private func pour(_ stream: ServerStream) {
        while left > 0, !stream.isBackedUp {
            let count = min(left, Self.piece.count)
            stream.writeContent(Self.piece.span.extracting(0..<count))
            left -= count
        }
        if left == 0 {
            left = -1
            stream.endResponse()
        }
    }

    func responseDrained(_ stream: ServerStream) {
        if case .octets = work, left > 0 { pour(stream) }
    }

    private func later(
        _ milliseconds: Int, _ stream: ServerStream, _ act: @escaping (SinkHandler, ServerStream) -> Void
    ) {
        let timer = LoopTimer { [weak self, weak stream] in
            if let self, let stream { act(self, stream) }
        }
        self.timer = timer
        stream.loop.set(timer, after: Delay(.milliseconds(milliseconds)))
    }

    func requestFailed(_ stream: ServerStream, _ failure: RequestFailure) { stream.abort() }
    func responseEnded(_ stream: ServerStream) { timer?.cancel() }
    func clientLost(_ stream: ServerStream, _ loss: ClientLoss) { timer?.cancel() }
}
