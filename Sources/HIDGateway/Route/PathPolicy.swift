// SPDX-License-Identifier: Apache-2.0

/// What becomes of a path that upstreams are known to read in different ways.
package enum PathPolicy: String, Sendable, CaseIterable {
    /// It is refused.
    case strict
    /// It passes unchanged when no reading of it leads to a critical rule or to another route, else it is refused.
    case guarded
}

/// The spellings that make a path ambiguous.
///
/// Everything else that ``PathCanonicaliser`` refuses is malformed and stays refused under every policy: control
/// characters, percent signs without digits, octets that are no text, a path that climbs above the root.
package struct PathAmbiguity: OptionSet, Sendable, Hashable {
    package let rawValue: UInt8

    package init(rawValue: UInt8) {
        self.rawValue = rawValue
    }

    /// `%2F`.
    package static let encodedSlash = PathAmbiguity(rawValue: 1)
    /// `%25`.
    package static let encodedPercent = PathAmbiguity(rawValue: 2)
    /// `;` and `%3B`.
    package static let semicolon = PathAmbiguity(rawValue: 4)
    /// `\` and `%5C`.
    package static let backslash = PathAmbiguity(rawValue: 8)
    /// `%3F` and `%23`.
    package static let encodedDelimiter = PathAmbiguity(rawValue: 16)
    /// A character that must be encoded (RFC 3986 section 3.3).
    package static let unencoded = PathAmbiguity(rawValue: 32)

    /// What a fault stands for; nil when the path is malformed.
    init?(_ fault: PathFault) {
        switch fault {
        case .encodedSlash: self = .encodedSlash
        case .encodedPercent: self = .encodedPercent
        case .semicolon, .encodedSemicolon: self = .semicolon
        case .encodedBackslash: self = .backslash
        case .encodedQuestionMark, .encodedHash: self = .encodedDelimiter
        case .badCharacter: self = .unencoded
        default: return nil
        }
    }
}

/// A spelling that one route may allow, whatever the policy is.
package enum AllowedSpelling: String, Sendable, CaseIterable {
    case encodedSlash = "encoded_slash"
    case encodedPercent = "encoded_percent"
    case semicolon

    package var ambiguity: PathAmbiguity {
        switch self {
        case .encodedSlash: .encodedSlash
        case .encodedPercent: .encodedPercent
        case .semicolon: .semicolon
        }
    }
}
