// SPDX-License-Identifier: Apache-2.0

/// Why a request-target is refused before any rule is looked at.
///
/// The raw values are the reason codes of log and metrics (PROTOCOL section 5).
package enum PathFault: String, Error, Sendable, CaseIterable {
    case targetTooLong = "target.too_long"
    case targetBadByte = "target.bad_byte"
    case targetConnect = "target.connect"
    case targetFragment = "target.fragment"
    case targetForm = "target.form"
    case targetAuthority = "target.authority"
    case targetAuthorityMismatch = "target.authority_mismatch"
    case badPercent = "path.bad_pct"
    case encodedPercent = "path.enc_percent"
    case encodedSlash = "path.enc_slash"
    case encodedBackslash = "path.enc_backslash"
    case encodedSemicolon = "path.enc_semicolon"
    case encodedQuestionMark = "path.enc_qmark"
    case encodedHash = "path.enc_hash"
    case control = "path.ctl"
    case badUTF8 = "path.bad_utf8"
    case badCharacter = "path.bad_char"
    case semicolon = "path.semicolon"
    case aboveRoot = "path.above_root"
    case ambiguous = "path.ambiguous"

    /// The reason code.
    package var code: String { rawValue }

    /// The status of the answer: 414 for a target that is too long, else 400.
    package var status: Int { self == .targetTooLong ? 414 : 400 }

    /// One sentence for an operator.
    package var explanation: String {
        switch self {
        case .targetTooLong: "the request-target is longer than \(RequestTarget.maximumLength) octets"
        case .targetBadByte: "the request-target holds an octet that is not visible ASCII"
        case .targetConnect: "CONNECT is not served"
        case .targetFragment: "the request-target holds a fragment"
        case .targetForm: "the request-target is neither a path nor an http(s) URL, nor * with OPTIONS"
        case .targetAuthority: "the authority of the request-target is empty, malformed or holds user information"
        case .targetAuthorityMismatch: "the authority of the request-target is not the one in Host"
        case .badPercent: "a percent sign in the path is not followed by two hexadecimal digits"
        case .encodedPercent: "the path holds an encoded percent sign (%25), which a second decoder would decode again"
        case .encodedSlash: "the path holds an encoded slash (%2F)"
        case .encodedBackslash: "the path holds an encoded backslash (%5C)"
        case .encodedSemicolon: "the path holds an encoded semicolon (%3B)"
        case .encodedQuestionMark: "the path holds an encoded question mark (%3F)"
        case .encodedHash: "the path holds an encoded hash sign (%23)"
        case .control: "the path holds an encoded control character"
        case .badUTF8: "the encoded octets of the path are not UTF-8"
        case .badCharacter: "the path holds a character that must be encoded"
        case .semicolon: "the path holds a semicolon, which some upstreams strip with what follows"
        case .aboveRoot: "the path climbs above the root"
        case .ambiguous: "one way to read the path leads to a critical rule or to another route"
        }
    }
}
