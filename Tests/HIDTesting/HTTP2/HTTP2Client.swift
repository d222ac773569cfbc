// SPDX-License-Identifier: Apache-2.0

/// What came of one stream.
package struct HTTP2Answer: Sendable {
    /// Field lines `name: value` of each header block, interim ones and trailers included.
    package var blocks: [[String]] = []
    package var body: [UInt8] = []
    /// The server ended the stream in order.
    package var isEnded = false
    /// The code of its RST_STREAM.
    package var resetCode: UInt32?

    package init() {}

    package var isOver: Bool { isEnded || resetCode != nil }
    package var text: String { String(decoding: body, as: UTF8.self) }

    private func status(_ block: [String]) -> Int? {
        block.lazy.compactMap { $0.hasPrefix(":status: ") ? Int($0.dropFirst(9)) : nil }.first
    }

    private var heads: [(status: Int, lines: [String])] {
        blocks.compactMap { block in status(block).map { ($0, block) } }
    }

    /// Statuses of interim answers.
    package var interim: [Int] { heads.map(\.status).filter { $0 < 200 } }
    /// The final status; 0 before it.
    package var status: Int { heads.last { $0.status >= 200 }?.status ?? 0 }
    /// The lines behind the content.
    package var trailers: [String] { blocks.last.flatMap { status($0) == nil ? $0 : nil } ?? [] }

    /// The value of a field of the final head.
    package subscript(_ name: String) -> String? {
        let prefix = name.lowercased() + ": "
        let lines = heads.last { $0.status >= 200 }?.lines ?? []
        return lines.first { $0.hasPrefix(prefix) }.map { String($0.dropFirst(prefix.count)) }
    }
}

/// A client of HTTP/2 that reads frame by frame and breaks any rule it is told to break.
package final class HTTP2Client {
    package let link: any ByteLink
    /// Everything received so far, but the content of DATA frames once it is taken up.
    package private(set) var frames: [Frame] = []
    /// What came of each stream.
    package private(set) var answers: [UInt32: HTTP2Answer] = [:]
    /// Opens the windows for what it reads.
    package var opensWindows = false
    private var buffer: [UInt8] = []
    private var read: [Frame] = []
    private let reader = HeaderReader()
    private var openBlock: [UInt8] = []
    private var nextStream: UInt32 = 1
    private var window = 65_535
    private var initialWindow = 65_535
    private var windows: [UInt32: Int] = [:]

    package init(_ link: any ByteLink) {
        self.link = link
    }

    /// Sends preface and SETTINGS and goes through the acknowledgements.
    package func greet(_ settings: [(UInt16, UInt32)] = []) throws {
        try link.send(HTTP2Wire.preface + HTTP2Wire.settings(settings))
        while let frame = try next(), frame.type != 4 || frame.flags != 1 {}
        try link.send(HTTP2Wire.settingsAck)
    }

    package func send(_ octets: [UInt8]) throws { try link.send(octets) }

    // MARK: - Reading

    /// The next frame; nil at the end of the connection.
    package func next(_ deadline: Deadline = Deadline()) throws -> Frame? {
        while read.isEmpty {
            let octets: [UInt8]
            do { octets = try link.receive(deadline) } catch WireError.reset { return nil }
            if octets.isEmpty { return nil }
            buffer += octets
            read = Frame.read(&buffer)
        }
        var frame = read.removeFirst()
        try take(frame)
        if opensWindows, frame.type == 0 { frame.payload = [] }
        frames.append(frame)
        return frame
    }

    private func take(_ frame: Frame) throws {
        switch frame.type {
        case 0:
            answers[frame.stream, default: HTTP2Answer()].body += frame.payload
            if opensWindows, !frame.payload.isEmpty {
                let count = UInt32(frame.payload.count)
                let own = frame.endsStream ? [] : HTTP2Wire.windowUpdate(frame.stream, count)
                // The server may have closed behind its last frame.
                try? link.send(HTTP2Wire.windowUpdate(0, count) + own)
            }
        case 1, 9:
            openBlock += frame.payload
            guard frame.flags & 4 != 0 else { return }
            answers[frame.stream, default: HTTP2Answer()].blocks.append(reader.read(openBlock) ?? ["?"])
            openBlock = []
        case 3: answers[frame.stream, default: HTTP2Answer()].resetCode = frame.code
        case 4 where frame.flags == 0: takeSettings(frame.payload)
        case 8 where frame.stream == 0: window += Int(frame.code)
        case 8: windows[frame.stream, default: initialWindow] += Int(frame.code)
        default: return
        }
        if frame.type < 2, frame.endsStream { answers[frame.stream, default: HTTP2Answer()].isEnded = true }
    }

    private func takeSettings(_ payload: [UInt8]) {
        for start in stride(from: 0, to: payload.count - 5, by: 6) where payload[start..<(start + 2)] == [0, 4] {
            let value = payload[(start + 2)..<(start + 6)].reduce(0) { $0 << 8 | Int($1) }
            for stream in Array(windows.keys) { windows[stream, default: 0] += value - initialWindow }
            initialWindow = value
        }
    }

    /// Reads on until a frame of that type comes for the stream.
    package func next(_ type: UInt8, _ stream: UInt32 = 0) throws -> Frame? {
        while let frame = try next() {
            if frame.type == type, frame.stream == stream { return frame }
        }
        return nil
    }

    /// An answer: its decoded header blocks, its content, and the code of a reset; `.max` when the connection ended.
    package func answer(_ stream: UInt32) throws -> (blocks: [[String]], content: [UInt8], code: UInt32?) {
        let answer = try response(stream)
        return (answer.blocks, answer.body, answer.isOver ? answer.resetCode : .max)
    }

    /// Reads on until the stream, or the connection, is over.
    package func response(_ stream: UInt32, _ deadline: Deadline = Deadline()) throws -> HTTP2Answer {
        while answers[stream]?.isOver != true, try next(deadline) != nil {}
        return answers[stream] ?? HTTP2Answer()
    }

    /// Reads on until the answer to the stream is as wanted; false at the end of the stream.
    package func wait(
        _ stream: UInt32, _ deadline: Deadline = Deadline(), until fits: (HTTP2Answer) -> Bool
    ) throws -> Bool {
        while true {
            let answer = answers[stream] ?? HTTP2Answer()
            if fits(answer) { return true }
            guard !answer.isOver, try next(deadline) != nil else { return false }
        }
    }

    /// Whether the connection ended, whatever came before.
    package func isClosed() throws -> Bool {
        while try next() != nil {}
        return true
    }

    /// The code of the last GOAWAY; nil without one.
    package var goAwayCode: UInt32? { frames.last { $0.type == 7 }?.code }

    /// Sends a PING and reads on until its answer: everything sent before has been seen.
    package func synchronise() throws -> Bool {
        let mark: [UInt8] = [7, 7, 7, 7, 0, 0, UInt8.random(in: 0...255), UInt8.random(in: 0...255)]
        try send(HTTP2Wire.ping(mark))
        while let frame = try next() { if frame.type == 6, frame.payload == mark { return true } }
        return false
    }

    // MARK: - Requests

    /// Opens a stream with the head of a request; `isWhole`: and ends it.
    package func open(
        _ method: String = "GET", _ path: String, _ fields: [(String, String)] = [], isWhole: Bool = true
    ) throws -> UInt32 {
        let stream = nextStream
        nextStream += 2
        try send(
            HTTP2Wire.headers(
                stream, HTTP2Wire.request(method, path, authority: "api.test", fields), end: isWhole))
        return stream
    }

    /// A whole request with content, as fast as the windows open; returns its stream.
    package func post(_ path: String, _ fields: [(String, String)] = [], body: [UInt8]) throws -> UInt32 {
        let stream = try open("POST", path, fields, isWhole: false)
        _ = try send(stream, body)
        return stream
    }

    /// Sends content within the windows, reading meanwhile; returns how much went before the stream was over.
    package func send(_ stream: UInt32, _ body: [UInt8], end: Bool = true) throws -> Int {
        var sent = 0
        repeat {
            let room = min(window, windows[stream, default: initialWindow], 16_384)
            let count = min(room, body.count - sent)
            if count <= 0, sent < body.count {
                guard answers[stream]?.isOver != true, try next() != nil else { return sent }
                continue
            }
            let isLast = sent + count == body.count
            do {
                try send(HTTP2Wire.data(stream, Array(body[sent..<(sent + count)]), end: end && isLast))
            } catch WireError.reset { return sent }
            sent += count
            window -= count
            windows[stream, default: initialWindow] -= count
        } while sent < body.count
        return sent
    }

    /// One whole exchange.
    package func exchange(
        _ method: String = "GET", _ path: String, _ fields: [(String, String)] = []
    ) throws -> HTTP2Answer {
        try response(open(method, path, fields))
    }
}
