// SPDX-License-Identifier: Apache-2.0

/// A node of a configuration file together with its name and where its faults go.
///
/// Each reading method returns the value, or reports what is wrong and returns nil; the caller goes on
/// with its default, so that all faults come out in one run.
package struct ConfigurationValue {
    package let node: YAMLNode
    /// The key, for messages.
    package let name: String
    package let reporter: Reporter

    package init(_ node: YAMLNode, name: String, reporter: Reporter) {
        self.node = node
        self.name = name
        self.reporter = reporter
    }

    package var mark: Mark { node.mark }

    package func error(_ message: String) {
        reporter.error(message, at: mark)
    }

    package func warning(_ message: String) {
        reporter.warning(message, at: mark)
    }

    /// Reports `'name' must be ..., not ...`.
    package func mustBe(_ what: String) {
        error("\(shownName) must be \(what), not \(node.shown)")
    }

    /// The root of a file has no name.
    private var shownName: String { name.isEmpty ? "the file" : name.quoted }

    /// The text of a scalar, whatever its style.
    package func scalar(_ what: String) -> String? {
        guard !reportNull() else { return nil }
        guard case .scalar(let text, _) = node.content else {
            mustBe(what)
            return nil
        }
        return text
    }

    /// Reads a mapping; keys that `body` did not ask for are reported after it.
    package func mapping<Result>(_ body: (MappingReader) -> Result) -> Result? {
        guard !reportNull() else { return nil }
        guard case .mapping(let entries) = node.content else {
            mustBe("a mapping")
            return nil
        }
        let reader = MappingReader(entries, name: name, mark: mark, reporter: reporter)
        let result = body(reader)
        reader.reportUnknownKeys()
        return result
    }

    /// The elements of a list; not of a lone scalar.
    package func list() -> [ConfigurationValue]? {
        guard !reportNull() else { return nil }
        guard case .sequence(let nodes) = node.content else {
            mustBe("a list")
            return nil
        }
        return nodes.map { ConfigurationValue($0, name: name, reporter: reporter) }
    }

    /// The elements of a list that must not be empty.
    package func nonEmptyList() -> [ConfigurationValue]? {
        guard let elements = list() else { return nil }
        guard !elements.isEmpty else {
            error("\(name.quoted) must not be empty")
            return nil
        }
        return elements
    }

    private func reportNull() -> Bool {
        if node.isNull { error("\(shownName) has no value") }
        return node.isNull
    }
}
