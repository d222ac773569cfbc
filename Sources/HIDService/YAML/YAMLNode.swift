// SPDX-License-Identifier: Apache-2.0

/// A value of a YAML file with the place where it starts.
///
/// Scalars have no type of their own: the schema says what `no`, `off` or `1` is.
package struct YAMLNode: Sendable, Equatable {
    package enum Style: Sendable {
        case plain
        case quoted
    }
    package enum Content: Sendable, Equatable {
        case scalar(text: String, style: Style)
        case sequence([YAMLNode])
        case mapping([Entry])
    }
    package struct Entry: Sendable, Equatable {
        package var key: String
        package var keyMark: Mark
        package var value: YAMLNode
    }
    package var content: Content
    package var mark: Mark

    package init(content: Content, mark: Mark) {
        self.content = content
        self.mark = mark
    }

    /// `key:` with nothing behind it, `~` or `null`.
    package var isNull: Bool {
        guard case .scalar(let text, .plain) = content else { return false }
        return text.isEmpty || text == "~" || text == "null"
    }

    /// `a mapping`, `a list` or the quoted text, for messages.
    package var shown: String {
        switch content {
        case .scalar(let text, _): text.quoted
        case .sequence: "a list"
        case .mapping: "a mapping"
        }
    }
}

/// What a YAML file may cost.
package struct YAMLLimits: Sendable {
    package var bytes = 1 << 20
    package var depth = 32

    package init() {}
}
