// SPDX-License-Identifier: Apache-2.0
import HIDHTTP
import HIDTesting

@testable import HIDHTTP

/// A client of one session, and the application behind it: everything that happens is written down.
final class SessionPeer: HTTP2SessionDelegate {
    let session: HTTP2Session
    var now: UInt64 = 1_000_000_000
    /// What the application was told, in order.
    var events: [String] = []
    /// What the client received, in order.
    var frames: [Frame] = []
    var heads: [Int32: RequestHead] = [:]
    var contents: [Int32: [UInt8]] = [:]
    var streams: [Int32: HTTP2Stream] = [:]
    var held: Set<Int32> = []
    var faults: [HTTP2Fault] = []
    /// Requests that were cut before they could be told, in order.
    var cuts: [String] = []
    /// Streams that are answered with 200 as soon as their request is whole.
    var answersAtOnce = false
    /// Whether the application's work ends with the stream.
    var releasesAtOnce = true
    private var pending: [UInt8] = []
    private let reader = HeaderReader()

    init(
        limits: HTTP2Limits = HTTP2Limits(), head: HeadLimits = .test, greets: Bool = true,
        settings: [(UInt16, UInt32)] = []
    ) throws {
        session = try HTTP2Session(limits: limits, headLimits: head, now: now, delegate: nil)
        session.delegate = self
        if greets {
            send(HTTP2Wire.preface + HTTP2Wire.settings(settings) + HTTP2Wire.settingsAck)
            frames = []
        }
    }

    func send(_ octets: [UInt8]) {
        session.receive(octets.span, now: now)
        collect()
    }

    /// Reads what the session has to say.
    func collect() {
        while true {
            var output = OutputQueue()
            session.transmit(into: &output, upTo: 1 << 20, now: now)
            var isEmpty = true
            _ = output.drain { octets, offset in
                self.pending += octets[offset...]
                isEmpty = false
                return .bytes(octets.count - offset)
            }
            session.deliver()
            if isEmpty { break }
        }
        frames += Frame.read(&pending)
    }

    func pass(seconds: Double) {
        now += UInt64(seconds * 1e9)
    }

    // MARK: - What came

    func frames(_ type: UInt8, _ stream: UInt32? = nil) -> [Frame] {
        frames.filter { $0.type == type && (stream == nil || $0.stream == stream) }
    }
    /// Error codes of the resets of a stream.
    func resets(_ stream: UInt32) -> [UInt32] { frames(3, stream).map(\.code) }
    /// The error code of the first GOAWAY that is one.
    var goAway: UInt32? { frames(7).first?.code }
    /// The decoded header blocks of a stream; call once, and for all streams in the order of their frames.
    func headers(_ stream: UInt32) -> [[String]] { frames(1, stream).compactMap { reader.read($0.payload) } }
    func content(_ stream: UInt32) -> [UInt8] { frames(0, stream).flatMap(\.payload) }
    func line(_ id: Int32, _ name: StaticString) -> String? { heads[id]?.text(FieldName(name)) }
    func startLine(_ id: Int32) -> String? {
        heads[id].map { String(decoding: $0.bytes.prefix { $0 != 0x0D }, as: UTF8.self) }
    }

    func answer(_ id: Int32, _ text: String = "ok") {
        guard let stream = streams[id] else { return }
        session.respond(stream, status: 200, lines: Array("Server: t\r\n".utf8), endsStream: false)
        session.write(stream, Array(text.utf8).span)
        session.end(stream)
        collect()
    }

    // MARK: - Told

    func requestBegan(_ stream: HTTP2Stream) {
        events.append("began \(stream.id)")
        streams[stream.id] = stream
        heads[stream.id] = stream.head
    }

    func requestRefused(_ stream: HTTP2Stream, _ fault: RequestFault) {
        events.append("refused \(stream.id) \(fault.status)")
        streams[stream.id] = stream
        session.respond(stream, status: fault.status, lines: [], endsStream: true)
    }

    func requestCut(_ stream: HTTP2Stream, _ fault: HTTP2Fault) { cuts.append("\(stream.id) \(fault.code)") }

    func holdsContent(_ stream: HTTP2Stream) -> Bool { held.contains(stream.id) }

    func requestContent(_ stream: HTTP2Stream, _ content: Span<UInt8>) {
        for index in content.indices { contents[stream.id, default: []].append(content[index]) }
    }

    func requestEnded(_ stream: HTTP2Stream) {
        events.append("ended \(stream.id)")
        guard answersAtOnce else { return }
        session.respond(stream, status: 200, lines: [], endsStream: true)
    }

    func streamLost(_ stream: HTTP2Stream, _ loss: HTTP2StreamLoss) {
        events.append("lost \(stream.id) \(loss)")
        if releasesAtOnce { session.release(stream) }
    }

    func outputDrained(_ stream: HTTP2Stream) { events.append("drained \(stream.id)") }

    func answerSent(_ stream: HTTP2Stream) {
        events.append("sent \(stream.id)")
        if releasesAtOnce { session.release(stream) }
    }

    func faultOccurred(_ fault: HTTP2Fault, stream: Int32) { faults.append(fault) }
}
