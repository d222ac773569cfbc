// SPDX-License-Identifier: Apache-2.0

import Foundation

/// How some upstream reads a path, written without any of the gateway's code.
struct UpstreamModel: Sendable {
    let name: String
    /// The segments that its router sees.
    let read: @Sendable ([UInt8]) -> [String]
    var ignoresCase = false
    /// Whether `name.ext` is routed like `name`.
    var dropsExtension = false

    /// Whether the router would run a critical handler.
    func isCritical(_ path: [UInt8]) -> Bool {
        var segments = read(path)
        if ignoresCase { segments = segments.map { $0.lowercased() } }
        if isRuled(segments) { return true }
        guard dropsExtension, let last = segments.last, let dot = last.lastIndex(of: "."), dot > last.startIndex else {
            return false
        }
        return isRuled(segments.dropLast() + [String(last[..<dot])])
    }

    private func isRuled(_ segments: [String]) -> Bool {
        func name(_ text: String) -> String { ignoresCase ? text.lowercased() : text }
        func same(_ left: String, _ right: String) -> Bool { left.utf8.elementsEqual(right.utf8) }
        func starts(_ prefix: [String]) -> Bool {
            segments.count >= prefix.count && zip(segments, prefix).allSatisfy { same($0, $1) }
        }
        return segments.count == 3 && starts(["api", "v1", "login"]) || starts(["api", "v1", "checkout"])
            || starts(["admin"]) || segments.count == 2 && starts([name("Legacy"), name("Pay")])
            || segments.count == 3 && starts(["users"]) && !segments[1].isEmpty && same(segments[2], "password")
            || starts(["caf\u{E9}"])
    }

    static let all: [UpstreamModel] = [
        UpstreamModel(name: "RFC 3986") { decoded(resolve(split($0), merging: false)) },
        UpstreamModel(name: "WHATWG") { path in
            decoded(resolve(split(path.map { $0 == 0x5C ? 0x2F : $0 }.filter { $0 > 0x20 }), merging: false))
        },
        UpstreamModel(name: "nginx") { strings(resolve(split(decode($0)), merging: true)) },
        UpstreamModel(name: "Tomcat") { strings(resolve(split(decode(stripped($0))), merging: true)) },
        UpstreamModel(
            name: "Spring", read: { trailing(resolve(split(decode(stripped($0))), merging: true)) },
            dropsExtension: true),
        UpstreamModel(name: "Express", read: { decoded(trimmedEnd(split($0))) }, ignoresCase: true),
        UpstreamModel(name: "Go") { trailing(resolve(split(decode($0)), merging: true)) },
        UpstreamModel(name: "Windows", read: windows, ignoresCase: true),
        UpstreamModel(
            name: "NFKC", read: { trailing(resolve(split(decode(compatible(decode($0)))), merging: true)) },
            ignoresCase: true, dropsExtension: true),
        UpstreamModel(
            name: "NFKC after routing dots",
            read: { trailing(split(compatible(decode($0)))) }, ignoresCase: true),
        UpstreamModel(
            name: "upper case",
            read: { path in
                trailing(split(decode(path))).map { $0.uppercased().lowercased() }
            }, ignoresCase: true),
        UpstreamModel(name: "form decoder") { path in
            trailing(resolve(split(decode(path.map { $0 == 0x2B ? 0x20 : $0 })), merging: true)).map {
                $0.trimmingCharacters(in: .whitespacesAndNewlines)
            }
        },
    ]
}

// MARK: - Steps

private func split(_ path: [UInt8]) -> [[UInt8]] {
    path.dropFirst().split(separator: 0x2F, omittingEmptySubsequences: false).map(Array.init)
}

private func strings(_ segments: [[UInt8]]) -> [String] { segments.map { String(decoding: $0, as: UTF8.self) } }

private func decoded(_ segments: [[UInt8]]) -> [String] { strings(segments.map(decode)) }

private func trimmedEnd(_ segments: [[UInt8]]) -> [[UInt8]] { segments.last == [] ? segments.dropLast() : segments }

private func trailing(_ segments: [[UInt8]]) -> [String] { strings(trimmedEnd(segments)) }

private func decode(_ path: [UInt8]) -> [UInt8] {
    var result: [UInt8] = []
    var index = 0
    while index < path.count {
        if path[index] == 0x25, index + 2 < path.count,
            let value = UInt8(String(decoding: path[(index + 1)...(index + 2)], as: UTF8.self), radix: 16)
        {
            result.append(value)
            index += 3
        } else {
            result.append(path[index])
            index += 1
        }
    }
    return result
}

private func resolve(_ segments: [[UInt8]], merging: Bool) -> [[UInt8]] {
    var result: [[UInt8]] = []
    for (index, segment) in segments.enumerated() {
        let isLast = index == segments.count - 1
        let name = strings([segment])[0].lowercased().replacing("%2e", with: ".")
        if name == ".." {
            _ = result.popLast()
            if isLast { result.append([]) }
        } else if name == "." || merging && segment.isEmpty {
            if isLast { result.append([]) }
        } else {
            result.append(segment)
        }
    }
    return result
}

private func stripped(_ path: [UInt8]) -> [UInt8] {
    var result: [UInt8] = []
    var isInParameter = false
    for octet in path {
        if octet == 0x2F { isInParameter = false }
        if octet == 0x3B { isInParameter = true }
        if !isInParameter { result.append(octet) }
    }
    return result
}

private func windows(_ path: [UInt8]) -> [String] {
    var result: [[UInt8]] = []
    for segment in split(decode(path).map { $0 == 0x5C ? 0x2F : $0 }) {
        var name = segment
        while let last = name.last, last == 0x20 { name.removeLast() }
        if name == [0x2E, 0x2E] {
            _ = result.popLast()
            continue
        }
        while let last = name.last, last == 0x20 || last == 0x2E { name.removeLast() }
        let text = String(decoding: name, as: UTF8.self).lowercased()
        if text.hasSuffix("::$data") { name.removeLast(7) }
        if !name.isEmpty { result.append(name) }
    }
    return strings(result)
}

private func compatible(_ path: [UInt8]) -> [UInt8] {
    Array(String(decoding: path, as: UTF8.self).precomposedStringWithCompatibilityMapping.utf8)
        .map { $0 == 0x5C ? 0x2F : $0 }
}
