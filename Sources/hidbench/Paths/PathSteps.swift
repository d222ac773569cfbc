// SPDX-License-Identifier: Apache-2.0

import Foundation

/// Steps of readers of a path, written without any of the gateway's code.
///
/// A path that is not split yet is octets with 0x2F between its segments; one that is has ``separator`` there, so that
/// a slash within a segment stays what it is. Neither octet is ever in a target.
enum PathSteps {
    static let slash: UInt8 = 0x2F
    static let separator: UInt8 = 0x01

    /// Cuts at every slash that stands there now.
    static func split(_ path: [UInt8]) -> [UInt8] { path.map { $0 == slash ? separator : $0 } }

    /// Decodes triplets once; anything else after a percent sign stays.
    static func decode(_ path: [UInt8], keepingSlashes: Bool = false) -> [UInt8] {
        guard path.contains(0x25) else { return path }
        var result: [UInt8] = []
        result.reserveCapacity(path.count)
        var index = 0
        while index < path.count {
            if path[index] == 0x25, index + 2 < path.count, let high = digit(path[index + 1]),
                let low = digit(path[index + 2]), !keepingSlashes || high << 4 | low != slash
            {
                result.append(high << 4 | low)
                index += 3
            } else {
                result.append(path[index])
                index += 1
            }
        }
        return result
    }

    /// Decodes triplets and the escapes `%uXXXX` of IIS, for ASCII.
    static func decodeWide(_ path: [UInt8]) -> [UInt8] {
        var result: [UInt8] = []
        var index = 0
        while index < path.count {
            let rest = path[index...].prefix(6)
            if rest.count == 6,
                rest.starts(with: [0x25, 0x75, 0x30, 0x30]) || rest.starts(with: [0x25, 0x55, 0x30, 0x30]),
                let high = digit(path[index + 4]), let low = digit(path[index + 5]), high < 8
            {
                result.append(high << 4 | low)
                index += 6
            } else {
                result.append(path[index])
                index += 1
            }
        }
        return decode(result)
    }

    private static func digit(_ octet: UInt8) -> UInt8? {
        switch octet {
        case 0x30...0x39: octet - 0x30
        case 0x41...0x46: octet - 0x37
        case 0x61...0x66: octet - 0x57
        default: nil
        }
    }

    /// Calls back with each segment of a path that starts with a separator.
    static func forEachSegment(
        _ path: [UInt8], by mark: UInt8, _ body: (_ segment: ArraySlice<UInt8>, _ isLast: Bool) -> Void
    ) {
        var start = 1
        while start <= path.count {
            let end = path[start...].firstIndex(of: mark) ?? path.count
            body(path[start..<end], end == path.count)
            start = end + 1
        }
    }

    /// Removes dot-segments, `%2e` being a dot, as RFC 3986 section 5.2.4 does; and empty segments when merging.
    static func resolve(_ path: [UInt8], by mark: UInt8 = slash, merging: Bool) -> [UInt8] {
        var result: [UInt8] = []
        result.reserveCapacity(path.count)
        forEachSegment(path, by: mark) { segment, isLast in
            switch dots(segment) {
            case 2:
                if let last = result.lastIndex(of: mark) { result.removeSubrange(last...) }
                if isLast { result.append(mark) }
            case 1: if isLast { result.append(mark) }
            default:
                guard !merging || !segment.isEmpty || isLast else { return }
                result.append(mark)
                result += segment
            }
        }
        return result.isEmpty ? [mark] : result
    }

    /// 1 or 2 for `.` and `..` in any spelling, else 0.
    private static func dots(_ segment: ArraySlice<UInt8>) -> Int {
        guard (1...6).contains(segment.count) else { return 0 }
        var (index, count) = (segment.startIndex, 0)
        while index < segment.endIndex {
            if segment[index] == 0x2E {
                index += 1
            } else if index + 2 < segment.endIndex, segment[index] == 0x25, segment[index + 1] == 0x32,
                segment[index + 2] | 0x20 == 0x65
            {
                index += 3
            } else {
                return 0
            }
            count += 1
        }
        return count <= 2 ? count : 0
    }

    /// Drops empty segments, the last one as well.
    static func merge(_ path: [UInt8], by mark: UInt8 = slash) -> [UInt8] {
        var result: [UInt8] = []
        forEachSegment(path, by: mark) { segment, _ in
            if !segment.isEmpty {
                result.append(mark)
                result += segment
            }
        }
        return result.isEmpty ? [mark] : result
    }

    /// Drops `;...` up to the next slash.
    static func stripped(_ path: [UInt8], by mark: UInt8 = slash) -> [UInt8] {
        guard path.contains(0x3B) else { return path }
        var isInParameter = false
        return path.filter { octet in
            if octet == mark { isInParameter = false }
            if octet == 0x3B { isInParameter = true }
            return !isInParameter
        }
    }

    /// Ends the path at the first of some octets.
    static func cut(_ path: [UInt8], at octets: Set<UInt8>) -> [UInt8] {
        guard let end = path.firstIndex(where: octets.contains) else { return path }
        return end == 0 ? [slash] : Array(path[..<end])
    }

    static func replacing(_ octet: UInt8, with other: UInt8, in path: [UInt8]) -> [UInt8] {
        path.contains(octet) ? path.map { $0 == octet ? other : $0 } : path
    }

    static func backslashes(_ path: [UInt8]) -> [UInt8] { replacing(0x5C, with: slash, in: path) }

    /// Drops one empty segment at the end.
    static func trimmedEnd(_ path: [UInt8], by mark: UInt8 = separator) -> [UInt8] {
        path.count > 1 && path.last == mark ? Array(path.dropLast()) : path
    }

    /// Drops a host after two slashes.
    static func withoutHost(_ path: [UInt8]) -> [UInt8] {
        guard path.starts(with: [slash, slash]) else { return path }
        guard let end = path[2...].firstIndex(of: slash) else { return [slash] }
        return Array(path[end...])
    }

    static func lowercased(_ path: [UInt8]) -> [UInt8] {
        guard path.contains(where: { $0 >= 0x80 }) else { return path.map { $0 &- 0x41 < 26 ? $0 | 0x20 : $0 } }
        return Array(String(decoding: path, as: UTF8.self).lowercased().utf8)
    }

    static func uppercasedAndBack(_ path: [UInt8]) -> [UInt8] {
        guard path.contains(where: { $0 >= 0x80 }) else { return lowercased(path) }
        return Array(String(decoding: path, as: UTF8.self).uppercased().lowercased().utf8)
    }

    /// Unicode NFKC, then `\` as a slash.
    static func compatible(_ path: [UInt8]) -> [UInt8] {
        guard path.contains(where: { $0 >= 0x80 }) else { return backslashes(path) }
        return backslashes(Array(String(decoding: path, as: UTF8.self).precomposedStringWithCompatibilityMapping.utf8))
    }

    /// Drops white space around segments.
    static func trimmedBlanks(_ path: [UInt8]) -> [UInt8] {
        var result: [UInt8] = []
        forEachSegment(path, by: separator) { segment, _ in
            result.append(separator)
            let rest = segment.drop { $0 == 0x20 }
            result += rest.prefix(upTo: (rest.lastIndex { $0 != 0x20 } ?? rest.startIndex - 1) + 1)
        }
        return result
    }

    /// The names that Windows opens: `\` is a slash, no dots or spaces at the end, no stream, `..` after trimming.
    static func windows(_ path: [UInt8]) -> [UInt8] {
        var result: [UInt8] = []
        forEachSegment(backslashes(path), by: slash) { segment, _ in
            var name = segment
            while name.last == 0x20 { name.removeLast() }
            if name.elementsEqual([0x2E, 0x2E]) {
                if let last = result.lastIndex(of: separator) { result.removeSubrange(last...) }
                return
            }
            while name.last == 0x20 || name.last == 0x2E { name.removeLast() }
            if lowercased(Array(name.suffix(7))).elementsEqual("::$data".utf8) { name.removeLast(7) }
            guard !name.isEmpty else { return }
            result.append(separator)
            result += name
        }
        return result.isEmpty ? [separator] : result
    }
}
