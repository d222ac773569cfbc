// SPDX-License-Identifier: Apache-2.0

/// Why a request head is refused before anything else looks at it (RFC 9112 sections 2 to 7).
///
/// Raw values are API. `version` and `versionUnsupported` share one reason code and differ in status.
package enum RequestFault: String, Sendable, Equatable, CaseIterable {
    case requestLine = "http.request_line"
    case methodBad = "http.method_bad"
    case methodTooLong = "http.method_too_long"
    case targetBadByte = "target.bad_byte"
    case targetTooLong = "target.too_long"
    case version = "http.version"
    case versionUnsupported = "http.version:505"
    case hostMissing = "http.host_missing"
    case hostMultiple = "http.host_multiple"
    case hostBad = "http.host_bad"
    case expectation = "http.expect"
    case headTooLarge = "http.header_too_large"
    case tooManyFields = "http.too_many_fields"
    case bareLF = "http.bare_lf"
    case bareCR = "http.bare_cr"
    case foldedLine = "http.obs_fold"
    case nameBad = "http.name_bad"
    case lineBad = "http.header_bad"
    case valueControl = "http.value_ctl"
    case contentLengthBad = "http.cl_bad"
    case contentLengthConflict = "http.cl_conflict"
    case contentLengthMultiple = "http.cl_multiple"
    case bothFramings = "http.cl_te"
    case transferEncodingBad = "http.te_bad"
    case transferEncodingUnsupported = "http.te_unsupported"
    case transferEncodingMultiple = "http.te_multiple"
    case transferEncodingHTTP10 = "http.te_http10"
    case connectionBad = "http.connection_bad"
    case connectionProtected = "http.connection_protected"

    /// The stable reason code for logs, metrics and documentation.
    package var code: String {
        self == .versionUnsupported ? RequestFault.version.rawValue : rawValue
    }

    /// The status that answers it.
    package var status: Int {
        switch self {
        case .targetTooLong: 414
        case .expectation: 417
        case .headTooLarge, .tooManyFields: 431
        case .methodTooLong, .transferEncodingUnsupported: 501
        case .versionUnsupported: 505
        default: 400
        }
    }

    /// One sentence for logs.
    package var explanation: String {
        switch self {
        case .requestLine: "the request line is not three parts with one space between"
        case .methodBad: "the method is no token"
        case .methodTooLong: "the method is longer than any known one"
        case .targetBadByte: "the request-target holds a byte outside 0x21-0x7E"
        case .targetTooLong: "the request-target is over its limit"
        case .version: "the version is neither HTTP/1.0 nor HTTP/1.1"
        case .versionUnsupported: "the version is well-formed and not spoken here"
        case .hostMissing: "HTTP/1.1 without Host"
        case .hostMultiple: "Host is given twice"
        case .hostBad: "Host is no host with an optional port"
        case .expectation: "Expect is not 100-continue"
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
        case .connectionProtected: "Connection names a protected field"
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
            case .connectionProtected: .connectionProtected
            }
    }
}
