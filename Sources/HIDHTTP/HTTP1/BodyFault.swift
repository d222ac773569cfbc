// SPDX-License-Identifier: Apache-2.0

/// Why the content of a message cannot be read to its end (RFC 9112 section 7.1).
///
/// Raw values are API. For a response from an upstream only the kind matters, the status is 502 or a cut connection.
package enum BodyFault: String, Sendable, Equatable, CaseIterable {
    case bareLF = "http.bare_lf"
    case bareCR = "http.bare_cr"
    case chunkSize = "http.chunk_size"
    case chunkExtension = "http.chunk_ext"
    case chunkExtensionTooLarge = "http.chunk_ext_too_large"
    case chunkTerminator = "http.chunk_term"
    case trailerFolded = "http.obs_fold"
    case trailerName = "http.name_bad"
    case trailerLine = "http.header_bad"
    case trailerControl = "http.value_ctl"
    case trailerTooLarge = "http.trailer_too_large"
    case contentTooLarge = "http.content_too_large"

    /// The stable reason code for logs, metrics and documentation.
    package var code: String { rawValue }

    /// The status that answers it when a client sent it.
    package var status: Int {
        switch self {
        case .contentTooLarge: 413
        case .trailerTooLarge: 431
        default: 400
        }
    }

    /// One sentence for logs.
    package var explanation: String {
        switch self {
        case .bareLF: "a line of the chunked coding ends with LF alone"
        case .bareCR: "CR is not followed by LF in the chunked coding"
        case .chunkSize: "a chunk size is not 1 to 16 hexadecimal digits below 2^63"
        case .chunkExtension: "a chunk extension is malformed"
        case .chunkExtensionTooLarge: "chunk extensions are over their limit"
        case .chunkTerminator: "chunk data is not followed by CRLF"
        case .trailerFolded: "a trailer line begins with white space"
        case .trailerName: "a trailer name is empty or no token, or white space precedes the colon"
        case .trailerLine: "a trailer line has no colon"
        case .trailerControl: "a trailer value holds a control byte"
        case .trailerTooLarge: "the trailer section is over its limit"
        case .contentTooLarge: "the content is over its limit"
        }
    }
}
