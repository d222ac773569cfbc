// SPDX-License-Identifier: Apache-2.0

/// Where the chunked coding is (RFC 9112 section 7.1).
enum ChunkState {
    /// In the digits of a chunk size.
    case size
    /// Inside an extension.
    case chunkExtension
    /// Behind the CR of a size line.
    case sizeLF
    /// In the data; `remaining` counts.
    case data
    /// Behind the data.
    case dataCR
    case dataLF
    case trailer
}

/// The size line now being read.
struct ChunkLine {
    var size: UInt64 = 0
    var digits = 0
    var ext = ChunkExtensionScanner()
    /// Octets of extensions in this line and in the message.
    var extOctets = 0
    var allExtOctets = 0

    mutating func restart() {
        size = 0
        digits = 0
        extOctets = 0
    }
}

extension BodyReader {
    /// Goes through framing octets until content, the end or the last octet at hand.
    mutating func nextOfChunked(_ bytes: Span<UInt8>, _ start: ChunkState) -> BodyStep {
        var current = start
        var index = 0
        while index < bytes.count {
            if case .data = current {
                let count = take(bytes.count &- index)
                state = .chunked(remaining == 0 ? .dataCR : .data)
                return .data(index..<(index &+ count))
            }
            if case .trailer = current { return readTrailer(bytes, index) }
            let byte = bytes[index]
            index &+= 1
            if let fault = advance(&current, byte) { return fail(fault) }
        }
        state = .chunked(current)
        return .needMore(consumed: bytes.count)
    }

    private mutating func advance(_ current: inout ChunkState, _ byte: UInt8) -> BodyFault? {
        switch current {
        case .size:
            return readSize(&current, byte)
        case .chunkExtension:
            return readExtension(&current, byte)
        case .sizeLF:
            return byte == 0x0A ? beginChunk(&current) : (chunk.extOctets > 0 ? .chunkExtension : .bareCR)
        case .dataCR:
            guard byte == 0x0D else { return .chunkTerminator }
            current = .dataLF
        case .dataLF:
            guard byte == 0x0A else { return .chunkTerminator }
            chunk.restart()
            current = .size
        case .data, .trailer:
            break
        }
        return nil
    }

    private mutating func readSize(_ current: inout ChunkState, _ byte: UInt8) -> BodyFault? {
        if ByteClass.contains(byte, ByteClass.hexDigit) {
            guard chunk.digits < 16, chunk.size < 1 << 59 else { return .chunkSize }
            chunk.size = chunk.size << 4 | ByteClass.hexValue(byte)
            chunk.digits &+= 1
            return nil
        }
        if byte == 0x0A { return .bareLF }
        guard chunk.digits > 0 else { return .chunkSize }
        switch byte {
        case 0x0D:
            current = .sizeLF
        case 0x3B:
            chunk.ext = ChunkExtensionScanner()
            current = .chunkExtension
            return countExtension()
        default:
            return .chunkSize
        }
        return nil
    }

    private mutating func readExtension(_ current: inout ChunkState, _ byte: UInt8) -> BodyFault? {
        if byte == 0x0D {
            guard chunk.ext.mayEnd else { return .chunkExtension }
            current = .sizeLF
            return nil
        }
        guard chunk.ext.accept(byte) else { return .chunkExtension }
        return countExtension()
    }

    private mutating func countExtension() -> BodyFault? {
        chunk.extOctets &+= 1
        chunk.allExtOctets &+= 1
        let isOver = chunk.extOctets > limits.chunkExtension || chunk.allExtOctets > limits.chunkExtensions
        return isOver ? .chunkExtensionTooLarge : nil
    }

    private mutating func beginChunk(_ current: inout ChunkState) -> BodyFault? {
        guard chunk.size > 0 else {
            current = .trailer
            return nil
        }
        guard announce(chunk.size) else { return .contentTooLarge }
        remaining = chunk.size
        current = .data
        return nil
    }

    private mutating func readTrailer(_ bytes: Span<UInt8>, _ start: Int) -> BodyStep {
        var index = start
        while index < bytes.count {
            let step = trailer.accept(bytes[index], limits)
            index &+= 1
            switch step {
            case .goOn: continue
            case .end:
                state = .ended
                trailers.append(copying: bytes.extracting(start..<index))
                // The empty line belongs to no field.
                trailers.removeLast(2)
                return .end(consumed: index)
            case .bad(let fault):
                return fail(fault)
            }
        }
        state = .chunked(.trailer)
        trailers.append(copying: bytes.extracting(start..<bytes.count))
        return .needMore(consumed: bytes.count)
    }
}

/// The octets of `chunk-ext` behind a semicolon (RFC 9112 section 7.1.1), without its optional white space.
struct ChunkExtensionScanner {
    private enum State {
        case nameStart
        case name
        case valueStart
        case value
        case quoted
        case quotedPair
        case quotedEnd
    }

    private var state = State.nameStart

    /// Whether the line may end here.
    var mayEnd: Bool {
        switch state {
        case .name, .value, .quotedEnd: true
        case .nameStart, .valueStart, .quoted, .quotedPair: false
        }
    }

    /// Takes one octet other than CR; false when the grammar has no place for it.
    mutating func accept(_ byte: UInt8) -> Bool {
        switch state {
        case .nameStart: return move(byte, token: .name)
        case .name: return byte == 0x3D ? to(.valueStart) : byte == 0x3B ? to(.nameStart) : move(byte, token: .name)
        case .valueStart: return byte == 0x22 ? to(.quoted) : move(byte, token: .value)
        case .value: return byte == 0x3B ? to(.nameStart) : move(byte, token: .value)
        case .quoted:
            if byte == 0x22 { return to(.quotedEnd) }
            if byte == 0x5C { return to(.quotedPair) }
            return ByteClass.contains(byte, ByteClass.quotedText)
        case .quotedPair: return ByteClass.contains(byte, ByteClass.value) && to(.quoted)
        case .quotedEnd: return byte == 0x3B && to(.nameStart)
        }
    }

    private mutating func move(_ byte: UInt8, token next: State) -> Bool {
        ByteClass.contains(byte, ByteClass.token) && to(next)
    }

    private mutating func to(_ next: State) -> Bool {
        state = next
        return true
    }
}
