// SPDX-License-Identifier: Apache-2.0
import CYAML

/// One event of libyaml's parser, copied into Swift values.
struct YAMLEvent {
    enum Kind {
        case streamStart
        case streamEnd
        case documentStart
        case documentEnd
        case alias
        case scalar(text: String, style: YAMLNode.Style)
        case sequenceStart
        case sequenceEnd
        case mappingStart
        case mappingEnd
    }
    var kind: Kind
    var mark: Mark
    var hasAnchor = false
    var hasTag = false
}

/// What libyaml says about text that is not YAML.
struct YAMLSyntaxFault: Error {
    var message: String
    var mark: Mark
}

/// libyaml's event parser over bytes held in memory.
@safe struct YAMLEventReader: ~Copyable {
    private let file: String
    /// Owned; on the heap because libyaml keeps a pointer to the parser in the parser.
    private let parser: UnsafeMutablePointer<yaml_parser_t>
    /// Owned; libyaml reads from it until the parser is deleted.
    private let input: UnsafeMutableBufferPointer<UInt8>

    /// - Throws: when memory is short.
    init(file: String, bytes: [UInt8]) throws(YAMLSyntaxFault) {
        self.file = file
        unsafe parser = .allocate(capacity: 1)
        unsafe parser.initialize(to: yaml_parser_t())
        // At least one octet, so that there is an address.
        unsafe input = .allocate(capacity: max(1, bytes.count))
        _ = unsafe input.initialize(from: bytes)
        guard unsafe yaml_parser_initialize(parser) == 1 else {
            unsafe input.deallocate()
            unsafe parser.deallocate()
            throw YAMLSyntaxFault(message: "out of memory", mark: Mark(file: file, line: 1, column: 1))
        }
        unsafe yaml_parser_set_encoding(parser, YAML_UTF8_ENCODING)
        unsafe yaml_parser_set_input_string(parser, input.baseAddress, bytes.count)
    }

    deinit {
        unsafe yaml_parser_delete(parser)
        unsafe input.deallocate()
        unsafe parser.deallocate()
    }

    /// The next event; not to be called again after `streamEnd` or a fault.
    mutating func next() throws(YAMLSyntaxFault) -> YAMLEvent {
        var event = unsafe yaml_event_t()
        guard unsafe yaml_parser_parse(parser, &event) == 1 else { throw fault() }
        defer { unsafe yaml_event_delete(&event) }
        var result = YAMLEvent(kind: .streamStart, mark: unsafe mark(event.start_mark))
        switch unsafe event.type {
        case YAML_STREAM_START_EVENT: result.kind = .streamStart
        case YAML_DOCUMENT_START_EVENT: result.kind = .documentStart
        case YAML_DOCUMENT_END_EVENT: result.kind = .documentEnd
        case YAML_SEQUENCE_END_EVENT: result.kind = .sequenceEnd
        case YAML_MAPPING_END_EVENT: result.kind = .mappingEnd
        case YAML_ALIAS_EVENT: result.kind = .alias
        case YAML_SEQUENCE_START_EVENT:
            result.kind = .sequenceStart
            result.hasAnchor = unsafe event.data.sequence_start.anchor != nil
            result.hasTag = unsafe event.data.sequence_start.tag != nil
        case YAML_MAPPING_START_EVENT:
            result.kind = .mappingStart
            result.hasAnchor = unsafe event.data.mapping_start.anchor != nil
            result.hasTag = unsafe event.data.mapping_start.tag != nil
        case YAML_SCALAR_EVENT:
            result.kind = unsafe scalar(event)
            result.hasAnchor = unsafe event.data.scalar.anchor != nil
            result.hasTag = unsafe event.data.scalar.tag != nil
        default: result.kind = .streamEnd
        }
        return result
    }

    private func scalar(_ event: yaml_event_t) -> YAMLEvent.Kind {
        let scalar = unsafe event.data.scalar
        let bytes = unsafe UnsafeBufferPointer(start: scalar.value, count: scalar.length)
        return unsafe .scalar(
            text: String(decoding: bytes, as: UTF8.self),
            style: scalar.style == YAML_PLAIN_SCALAR_STYLE ? .plain : .quoted)
    }

    private func mark(_ mark: yaml_mark_t) -> Mark {
        Mark(file: file, line: Int(clamping: mark.line) + 1, column: Int(clamping: mark.column) + 1)
    }

    private func fault() -> YAMLSyntaxFault {
        var message = unsafe parser.pointee.problem.map { unsafe String(cString: $0) } ?? "not YAML"
        if let context = unsafe parser.pointee.context {
            message += unsafe " \(String(cString: context))"
        }
        if message.hasSuffix("while scanning a simple key") {
            // Found out on the next line; the place of the key helps more.
            return YAMLSyntaxFault(message: message, mark: unsafe mark(parser.pointee.context_mark))
        }
        guard unsafe parser.pointee.error == YAML_READER_ERROR else {
            return YAMLSyntaxFault(message: message, mark: unsafe mark(parser.pointee.problem_mark))
        }
        let offset = unsafe min(parser.pointee.problem_offset, input.count)
        return YAMLSyntaxFault(message: message, mark: unsafe Mark(file: file, at: offset, of: Array(input)))
    }
}

extension Mark {
    /// The place of an octet, which need not be part of valid UTF-8.
    init(file: String, at offset: Int, of bytes: [UInt8]) {
        let before = bytes.prefix(offset)
        let lineStart = before.lastIndex(of: 0x0A).map { $0 + 1 } ?? 0
        let characters = before[lineStart...].count { $0 & 0xC0 != 0x80 }
        self.init(file: file, line: before.count { $0 == 0x0A } + 1, column: characters + 1)
    }
}
