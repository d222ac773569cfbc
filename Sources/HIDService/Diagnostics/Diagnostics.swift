// SPDX-License-Identifier: Apache-2.0

/// One fault of a configuration file.
package struct Diagnostic: Sendable, Equatable {
    package enum Severity: String, Sendable {
        case error
        case warning
    }
    package var severity: Severity
    package var mark: Mark
    /// Lower case, no final stop.
    package var message: String

    package init(_ severity: Severity, _ message: String, at mark: Mark) {
        self.severity = severity
        self.mark = mark
        self.message = message
    }
}

/// All faults of one run over one or more files, with the lines they point at.
package struct Diagnostics: Sendable, Equatable {
    private var entries: [Diagnostic] = []
    /// Lines by file.
    private var sources: [String: [String]] = [:]

    package init() {}

    /// Sorted by file, line and column; faults of one place stay in the order in which they were found.
    package var sorted: [Diagnostic] {
        entries.enumerated()
            .sorted { ($0.element.mark, $0.offset) < ($1.element.mark, $1.offset) }
            .map(\.element)
    }

    package var isEmpty: Bool { entries.isEmpty }
    package var errorCount: Int { entries.count { $0.severity == .error } }
    package var warningCount: Int { entries.count - errorCount }
    package var hasErrors: Bool { errorCount > 0 }

    package mutating func add(_ diagnostic: Diagnostic) {
        entries.append(diagnostic)
    }

    /// Remembers the text of a file so that its lines can be shown.
    package mutating func addSource(file: String, bytes: [UInt8]) {
        sources[file] = bytes.split(separator: 0x0A, omittingEmptySubsequences: false).map { line in
            String(decoding: line.last == 0x0D ? line.dropLast() : line, as: UTF8.self)
        }
    }

    /// Every fault as `file:line:column: error: message`, its source line and a caret line; an empty line is not shown.
    package var rendered: String {
        sorted.map(render).joined()
    }

    private func render(_ diagnostic: Diagnostic) -> String {
        let mark = diagnostic.mark
        var text = "\(mark): \(diagnostic.severity.rawValue): \(diagnostic.message)\n"
        guard let lines = sources[mark.file], lines.indices.contains(mark.line - 1) else { return text }
        let line = lines[mark.line - 1].unicodeScalars
        guard !line.isEmpty else { return text }
        text += printable(line) + "\n" + caretIndent(line.prefix(mark.column - 1)) + "^\n"
        return text
    }

    /// Tabs stay tabs, so that the caret stands below its character whatever the width of a tab.
    private func caretIndent(_ scalars: String.UnicodeScalarView.SubSequence) -> String {
        String(String.UnicodeScalarView(scalars.map { $0 == "\t" ? $0 : " " }))
    }

    /// A file must not steer the terminal of the operator who checks it.
    private func printable(_ scalars: String.UnicodeScalarView) -> String {
        String(
            String.UnicodeScalarView(
                scalars.map { $0 == "\t" || !$0.properties.generalCategory.isControl ? $0 : "?" }))
    }
}

extension Unicode.GeneralCategory {
    /// Control and format characters (the latter turn the direction of text).
    var isControl: Bool { self == .control || self == .format }
}

extension String {
    /// The text in single quotes as it is shown in a message: control characters replaced, at most 80 characters.
    package var quoted: String {
        var text = String.UnicodeScalarView()
        for scalar in unicodeScalars.prefix(80) {
            text.append(scalar.properties.generalCategory.isControl ? "?" : scalar)
        }
        return "'\(text)\(unicodeScalars.count > 80 ? "..." : "")'"
    }
}

extension Diagnostics {
    /// The first error in one line; empty without one.
    package var first: String {
        guard let first = sorted.first(where: { $0.severity == .error }) else { return "" }
        return "\(first.mark.file):\(first.mark.line):\(first.mark.column): \(first.message)"
    }
}
