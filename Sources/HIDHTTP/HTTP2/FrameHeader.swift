// SPDX-License-Identifier: Apache-2.0

/// The nine octets before the payload of every frame (RFC 9113 section 4.1).
struct FrameHeader: Equatable {
    /// The frame types of RFC 9113 section 6, and the one of RFC 9218.
    enum Kind {
        case data, headers, priority, resetStream, settings, pushPromise, ping, goAway, windowUpdate, continuation
        case unknown
    }

    static let size = 9

    let length: Int
    let type: UInt8
    let flags: UInt8
    let stream: Int32

    init(_ octets: [9 of UInt8]) {
        length = Int(octets[0]) << 16 | Int(octets[1]) << 8 | Int(octets[2])
        type = octets[3]
        flags = octets[4]
        let high = UInt32(octets[5] & 0x7F) << 24 | UInt32(octets[6]) << 16
        stream = Int32(bitPattern: high | UInt32(octets[7]) << 8 | UInt32(octets[8]))
    }

    var kind: Kind {
        switch type {
        case 0: .data
        case 1: .headers
        case 2, 0x10: .priority
        case 3: .resetStream
        case 4: .settings
        case 5: .pushPromise
        case 6: .ping
        case 7: .goAway
        case 8: .windowUpdate
        case 9: .continuation
        default: .unknown
        }
    }

    var endsStream: Bool { flags & 0x01 != 0 }
    var endsHeaders: Bool { flags & 0x04 != 0 }
    var isPadded: Bool { flags & 0x08 != 0 }
}

/// Finds the frame headers in octets that come in any pieces.
struct FrameScanner {
    /// Octets of the preface, then of the payload under way, that are still to come.
    private var remaining = 24
    private var octets = [9 of UInt8](repeating: 0)
    private var collected = 0

    /// Whether octets of a frame, or of the preface, are missing.
    var isInsideFrame: Bool { remaining > 0 || collected > 0 }

    /// Whether octets of a payload, or of the preface, are missing.
    var isInsidePayload: Bool { remaining > 0 }

    /// Looks for the next complete header at or behind `position`.
    ///
    /// - Returns: The header and the index of the first octet behind it, or nil when the octets end before.
    mutating func next(_ bytes: Span<UInt8>, from position: Int) -> (header: FrameHeader, end: Int)? {
        let skipped = min(remaining, bytes.count - position)
        remaining -= skipped
        var index = position + skipped
        while index < bytes.count {
            octets[collected] = bytes[index]
            collected += 1
            index += 1
            guard collected == FrameHeader.size else { continue }
            collected = 0
            let header = FrameHeader(octets)
            remaining = header.length
            return (header, index)
        }
        return nil
    }
}
