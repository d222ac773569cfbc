// SPDX-License-Identifier: Apache-2.0

/// Reads one YAML document into a tree.
///
/// Not accepted: anchors, aliases, tags, more than one document, keys that are not scalars,
/// duplicate keys, anything but UTF-8, and files beyond `YAMLLimits`.
package enum YAMLParser {
    /// The tree, or nil after a fault that leaves none; every fault is reported.
    ///
    /// An empty file gives nil and a fault.
    package static func parse(
        _ bytes: [UInt8], file: String, limits: YAMLLimits = YAMLLimits(), reporter: Reporter
    ) -> YAMLNode? {
        let start = Mark(file: file, line: 1, column: 1)
        guard bytes.count <= limits.bytes else {
            reporter.error("the file is longer than \(limits.bytes) octets", at: start)
            return nil
        }
        reporter.addSource(file: file, bytes: bytes)
        if let offset = UTF8Scan.firstInvalid(in: bytes) {
            reporter.error("not UTF-8", at: Mark(file: file, at: offset, of: bytes))
            return nil
        }
        do throws(YAMLSyntaxFault) {
            var builder = YAMLTreeBuilder(limits: limits, reporter: reporter)
            var reader = try YAMLEventReader(file: file, bytes: bytes)
            return try builder.document(from: &reader, start: start)
        } catch {
            reporter.error(error.message, at: error.mark)
            return nil
        }
    }
}

/// Turns events into nodes.
private struct YAMLTreeBuilder {
    let limits: YAMLLimits
    let reporter: Reporter

    mutating func document(from reader: inout YAMLEventReader, start: Mark) throws(YAMLSyntaxFault) -> YAMLNode? {
        var root: YAMLNode?
        while true {
            let event = try reader.next()
            switch event.kind {
            case .streamStart, .documentEnd: continue
            case .streamEnd:
                if root == nil { reporter.error("the file is empty", at: start) }
                return root
            case .documentStart:
                guard root == nil else {
                    throw YAMLSyntaxFault(message: "more than one document in a file", mark: event.mark)
                }
            default: root = try node(event, from: &reader, depth: 1)
            }
        }
    }

    private func node(
        _ event: YAMLEvent, from reader: inout YAMLEventReader, depth: Int
    ) throws(YAMLSyntaxFault) -> YAMLNode {
        if event.hasAnchor { reporter.error("anchors are not accepted", at: event.mark) }
        if event.hasTag { reporter.error("tags are not accepted", at: event.mark) }
        guard depth <= limits.depth else {
            throw YAMLSyntaxFault(message: "nested deeper than \(limits.depth) levels", mark: event.mark)
        }
        switch event.kind {
        case .scalar(let text, let style):
            return YAMLNode(content: .scalar(text: text, style: style), mark: event.mark)
        case .sequenceStart:
            return YAMLNode(content: .sequence(try sequence(from: &reader, depth: depth)), mark: event.mark)
        case .mappingStart:
            return YAMLNode(content: .mapping(try mapping(from: &reader, depth: depth)), mark: event.mark)
        case .alias:
            throw YAMLSyntaxFault(message: "aliases are not accepted", mark: event.mark)
        default:
            throw YAMLSyntaxFault(message: "not YAML", mark: event.mark)
        }
    }

    private func sequence(
        from reader: inout YAMLEventReader, depth: Int
    ) throws(YAMLSyntaxFault) -> [YAMLNode] {
        var elements: [YAMLNode] = []
        while true {
            let event = try reader.next()
            if case .sequenceEnd = event.kind { return elements }
            elements.append(try node(event, from: &reader, depth: depth + 1))
        }
    }

    private func mapping(
        from reader: inout YAMLEventReader, depth: Int
    ) throws(YAMLSyntaxFault) -> [YAMLNode.Entry] {
        var entries: [YAMLNode.Entry] = []
        var lines: [String: Int] = [:]
        while true {
            let event = try reader.next()
            if case .mappingEnd = event.kind { return entries }
            let key = try node(event, from: &reader, depth: depth + 1)
            let value = try node(try reader.next(), from: &reader, depth: depth + 1)
            guard case .scalar(let text, _) = key.content else {
                reporter.error("a key must be a word", at: key.mark)
                continue
            }
            if let line = lines[text] {
                reporter.error("duplicate key \(text.quoted), first on line \(line)", at: key.mark)
                continue
            }
            lines[text] = key.mark.line
            entries.append(YAMLNode.Entry(key: text, keyMark: key.mark, value: value))
        }
    }
}
