// SPDX-License-Identifier: Apache-2.0

/// A request or an answer as a test sees it.
package struct HTTPMessage: Sendable {
    package var startLine: String
    package var fields: [(name: String, value: String)]
    package var body: [UInt8] = []
    /// Sizes of the chunks, when it was chunked.
    package var chunks: [Int] = []
    /// Whether the body came to the end that its framing promised.
    package var isComplete = true
    /// Interim answers that came before this one.
    package var interim: [HTTPMessage] = []

    package var status: Int { word(1).flatMap { Int($0) } ?? 0 }
    package var method: String { word(0) ?? "" }
    package var target: String { word(1) ?? "" }
    package var text: String { String(decoding: body, as: UTF8.self) }

    private func word(_ index: Int) -> String? {
        let words = startLine.split(separator: " ")
        return index < words.count ? String(words[index]) : nil
    }

    /// The value of a field; nil unless it came exactly once.
    package subscript(_ name: String) -> String? {
        let values = all(name)
        return values.count == 1 ? values[0] : nil
    }

    package func all(_ name: String) -> [String] {
        fields.filter { $0.name.lowercased() == name.lowercased() }.map(\.value)
    }
}

/// Reads messages from a wire, strictly enough to notice a wrong framing.
package final class MessageReader {
    private let wire: any ByteLink
    /// Received and not yet read.
    package private(set) var buffer: [UInt8] = []

    package init(_ wire: any ByteLink) {
        self.wire = wire
    }

    /// The octets behind the last message, or those that come next; empty at the end of the stream.
    package func octets(_ deadline: Deadline = Deadline()) throws -> [UInt8] {
        guard buffer.isEmpty else {
            defer { buffer = [] }
            return buffer
        }
        return try wire.receive(deadline)
    }

    /// False at the end of the stream.
    private func fill(_ deadline: Deadline) throws -> Bool {
        let bytes = try wire.receive(deadline)
        buffer += bytes
        return !bytes.isEmpty
    }

    private func line(_ deadline: Deadline) throws -> String? {
        var searched = 0
        while true {
            if let end = buffer[searched...].firstIndex(of: 0x0A) {
                guard end > 0, buffer[end - 1] == 0x0D else { throw WireError.malformed("a line without CR") }
                let line = String(decoding: buffer[..<(end - 1)], as: UTF8.self)
                buffer.removeFirst(end + 1)
                return line
            }
            searched = buffer.count
            guard try fill(deadline) else { return nil }
        }
    }

    /// A head; nil when the stream ends before its first octet.
    private func head(_ deadline: Deadline) throws -> HTTPMessage? {
        guard let start = try line(deadline) else {
            guard buffer.isEmpty else { throw WireError.malformed("the stream ended in a start line") }
            return nil
        }
        var message = HTTPMessage(startLine: start, fields: [])
        while let line = try line(deadline) {
            if line.isEmpty { return message }
            guard let colon = line.firstIndex(of: ":") else { throw WireError.malformed(line) }
            let value = line[line.index(after: colon)...].drop { $0 == " " }
            message.fields.append((String(line[..<colon]), String(value)))
        }
        throw WireError.malformed("the stream ended in a head")
    }

    /// The next request; nil when the peer has ended the stream between requests.
    package func request(_ deadline: Deadline = Deadline()) throws -> HTTPMessage? {
        guard var message = try head(deadline) else { return nil }
        if message["Content-Length"] != nil || message["Transfer-Encoding"] != nil { try body(&message, deadline) }
        return message
    }

    /// The head of the next request; its body is left on the wire.
    package func requestHead(_ deadline: Deadline = Deadline()) throws -> HTTPMessage? { try head(deadline) }

    /// The next answer with the interim ones before it; nil when the connection ended instead.
    package func response(isHead: Bool = false, _ deadline: Deadline = Deadline()) throws -> HTTPMessage? {
        var interim: [HTTPMessage] = []
        while true {
            let next: HTTPMessage?
            do { next = try head(deadline) } catch WireError.reset where buffer.isEmpty { next = nil }
            guard var message = next else { return nil }
            if (100..<200).contains(message.status), message.status != 101 {
                interim.append(message)
                continue
            }
            message.interim = interim
            if isHead || message.status == 204 || message.status == 304 || message.status == 101 { return message }
            try body(&message, deadline)
            return message
        }
    }

    /// The next head of an answer alone, interim or not.
    package func responseHead(_ deadline: Deadline = Deadline()) throws -> HTTPMessage? { try head(deadline) }

    private func body(_ message: inout HTTPMessage, _ deadline: Deadline) throws {
        do {
            if message["Transfer-Encoding"] == "chunked" {
                try chunked(&message, deadline)
            } else if let text = message["Content-Length"] {
                guard let length = Int(text) else { throw WireError.malformed("Content-Length: \(text)") }
                while buffer.count < length, try fill(deadline) {}
                message.isComplete = buffer.count >= length
                message.body = Array(buffer.prefix(length))
                buffer.removeFirst(message.body.count)
            } else {
                while try fill(deadline) {}
                message.body = buffer
                buffer = []
            }
        } catch WireError.reset {
            message.isComplete = false
            message.body += buffer
            buffer = []
        }
    }

    private func chunked(_ message: inout HTTPMessage, _ deadline: Deadline) throws {
        message.isComplete = false
        while let sizeLine = try line(deadline) {
            guard let size = Int(sizeLine.prefix { $0 != ";" }, radix: 16) else { throw WireError.malformed(sizeLine) }
            if size == 0 {
                while let trailer = try line(deadline) {
                    if trailer.isEmpty {
                        message.isComplete = true
                        return
                    }
                    message.fields.append(("trailer", trailer))
                }
                return
            }
            while buffer.count < size + 2, try fill(deadline) {}
            message.body += buffer.prefix(size)
            guard buffer.count >= size + 2 else { return }
            guard buffer[size] == 0x0D, buffer[size + 1] == 0x0A else { throw WireError.malformed("end of a chunk") }
            message.chunks.append(size)
            buffer.removeFirst(size + 2)
        }
    }
}
