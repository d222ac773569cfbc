// SPDX-License-Identifier: Apache-2.0

/// A place in a file; line and column count from 1, columns in characters.
package struct Mark: Sendable, Hashable, Comparable {
    package var file: String
    package var line: Int
    package var column: Int

    package init(file: String, line: Int, column: Int) {
        self.file = file
        self.line = line
        self.column = column
    }

    package static func < (left: Mark, right: Mark) -> Bool {
        guard left.file == right.file else { return left.file < right.file }
        return (left.line, left.column) < (right.line, right.column)
    }
}

extension Mark: CustomStringConvertible {
    /// `file:line:column`.
    package var description: String { "\(file):\(line):\(column)" }
}
