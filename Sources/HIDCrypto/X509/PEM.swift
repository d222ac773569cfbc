// SPDX-License-Identifier: Apache-2.0

/// Why a text is no PEM that we accept.
package enum PEMFault: Error, Sendable, Equatable {
    /// No block with the wanted label.
    case noBlock
    /// A BEGIN line without its END line, an END line without its BEGIN line, or one of them cut off.
    case boundary
    /// A block with another label.
    case label
    /// Something that is no base64 in a block.
    case base64
    /// More octets or blocks than the limit.
    case tooLong
}

/// The textual encoding of RFC 7468, one or several blocks with the same label.
///
/// Lines end with LF or CR LF. Text outside the blocks is explanation and ignored; a block holds base64 in lines of
/// any length and nothing else: no headers, no white space, no empty lines.
package enum PEM {
    /// Octets of a text and blocks in it, at most.
    package static let maximumSize = 1 << 20
    package static let maximumBlocks = 64

    /// The octets of every block in order; at least one.
    package static func blocks(_ text: [UInt8], label: StaticString) throws(PEMFault) -> [[UInt8]] {
        guard text.count <= maximumSize else { throw .tooLong }
        let name = label.withUTF8Buffer { unsafe Array($0) }
        let begin = Array("-----BEGIN ".utf8)
        let end = Array("-----END ".utf8)
        let tail = Array("-----".utf8)
        var found: [[UInt8]] = []
        var content: [UInt8]?
        for line in lines(text) {
            if line.starts(with: begin) {
                guard content == nil else { throw .boundary }
                guard line.elementsEqual(begin + name + tail) else { throw .label }
                guard found.count < maximumBlocks else { throw .tooLong }
                content = []
            } else if line.starts(with: end) {
                guard let base64 = content, line.elementsEqual(end + name + tail) else { throw .boundary }
                guard !base64.isEmpty, let der = Base64.decode(base64.span) else { throw .base64 }
                found.append(der)
                content = nil
            } else if content != nil {
                guard !line.isEmpty else { throw .base64 }
                content?.append(contentsOf: line)
            } else if line.starts(with: tail) {
                throw .boundary
            }
        }
        guard content == nil else { throw .boundary }
        guard !found.isEmpty else { throw .noBlock }
        return found
    }

    private static func lines(_ text: [UInt8]) -> [ArraySlice<UInt8>] {
        text.split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false).map { line in
            line.last == UInt8(ascii: "\r") ? line.dropLast() : line
        }
    }
}
