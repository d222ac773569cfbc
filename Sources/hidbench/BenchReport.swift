// SPDX-License-Identifier: Apache-2.0

import HIDService

/// Figures with names, for people and for programs.
struct BenchReport {
    private struct Line {
        var name: StaticString
        var value: Double
        var label: String
        var unit: String
    }

    private var lines: [Line] = []
    private var words: [(name: StaticString, value: String)] = []

    mutating func add(_ name: StaticString, _ value: Double, _ label: String, _ unit: String = "") {
        lines.append(Line(name: name, value: value, label: label, unit: unit))
    }

    mutating func add(_ name: StaticString, _ value: String) {
        words.append((name, value))
    }

    /// One JSON object in a line, or one line a figure.
    func text(json: Bool) -> String {
        guard json else {
            let figures = lines.map { "\(pad($0.label)) \(Self.rounded($0.value)) \($0.unit)\n" }
            return words.map { "\(pad("\($0.name)")) \($0.value)\n" }.joined() + figures.joined()
        }
        var line = JSONLineWriter()
        line.begin()
        for word in words { line.string(word.name, word.value) }
        for figure in lines { line.double(figure.name, Self.rounded(figure.value)) }
        line.end()
        return String(decoding: line.bytes, as: UTF8.self)
    }

    private func pad(_ text: String) -> String {
        text + String(repeating: " ", count: max(1, 36 - text.utf8.count))
    }

    /// To a thousandth: more is noise.
    private static func rounded(_ value: Double) -> Double { (value * 1000).rounded() / 1000 }
}
