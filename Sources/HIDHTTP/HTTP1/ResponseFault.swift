// SPDX-License-Identifier: Apache-2.0

/// Why an upstream's response head is not relayed; each is a 502 (RFC 9110 section 15.6.3).
///
/// Raw values are API.
package enum ResponseFault: String, Sendable, Equatable, CaseIterable {
    case statusLine = "upstream.status_line"
    case version = "upstream.version"
    case statusCode = "upstream.status_code"
    case headTooLarge = "upstream.header_too_large"
    case tooManyFields = "upstream.too_many_fields"
    case bareLF = "upstream.bare_lf"
    case bareCR = "upstream.bare_cr"
    case foldedLine = "upstream.obs_fold"
    case nameBad = "upstream.name_bad"
    case lineBad = "upstream.header_bad"
    case valueControl = "upstream.value_ctl"
    case contentLengthBad = "upstream.cl_bad"
    case contentLengthConflict = "upstream.cl_conflict"
    case contentLengthMultiple = "upstream.cl_multiple"
    case bothFramings = "upstream.cl_te"
    case transferEncodingBad = "upstream.te_bad"
    case transferEncodingUnsupported = "upstream.te_unsupported"
    case transferEncodingMultiple = "upstream.te_multiple"
    case transferEncodingHTTP10 = "upstream.te_http10"
    case connectionBad = "upstream.connection_bad"

    /// The stable reason code for logs, metrics and documentation.
    package var code: String { rawValue }

    /// One sentence for logs.
    package var explanation: String {
        switch self {
        case .statusLine: "the status line is malformed"
        case .version: "the version is neither HTTP/1.0 nor HTTP/1.1"
        case .statusCode: "the status code is not in 100...599"
        case .headTooLarge: "the head is over its byte limit"
        case .tooManyFields: "the head has too many field lines"
        case .bareLF: "a line ends with LF alone"
        case .bareCR: "CR is not followed by LF"
        case .foldedLine: "a field line begins with white space"
        case .nameBad: "a field name is empty or no token, or white space precedes the colon"
        case .lineBad: "a field line has no colon"
        case .valueControl: "a field value holds a control byte"
        case .contentLengthBad: "Content-Length is no plain decimal number below 2^63"
        case .contentLengthConflict: "two Content-Length lines differ"
        case .contentLengthMultiple: "Content-Length is given twice"
        case .bothFramings: "Content-Length and Transfer-Encoding are both given"
        case .transferEncodingBad: "Transfer-Encoding is malformed, or chunked is not its last coding"
        case .transferEncodingUnsupported: "a transfer coding other than chunked"
        case .transferEncodingMultiple: "Transfer-Encoding is given twice"
        case .transferEncodingHTTP10: "Transfer-Encoding in HTTP/1.0"
        case .connectionBad: "Connection is no list of tokens"
        }
    }

    init(_ fault: FieldFault) {
        self =
            switch fault {
            case .bareLF: .bareLF
            case .bareCR: .bareCR
            case .foldedLine: .foldedLine
            case .nameBad: .nameBad
            case .lineBad: .lineBad
            case .valueControl: .valueControl
            case .contentLengthBad: .contentLengthBad
            case .contentLengthConflict: .contentLengthConflict
            case .contentLengthMultiple: .contentLengthMultiple
            case .bothFramings: .bothFramings
            case .transferEncodingBad: .transferEncodingBad
            case .transferEncodingUnsupported: .transferEncodingUnsupported
            case .transferEncodingMultiple: .transferEncodingMultiple
            case .transferEncodingHTTP10: .transferEncodingHTTP10
            case .connectionBad: .connectionBad
            case .connectionProtected: .connectionBad
            }
    }
}
