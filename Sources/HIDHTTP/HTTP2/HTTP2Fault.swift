// SPDX-License-Identifier: Apache-2.0

/// Why an HTTP/2 stream or connection was cut (RFC 9113 section 5.4).
///
/// Raw values are API: they are the reason codes of logs, metrics and documentation.
package enum HTTP2Fault: String, Error, Sendable, Equatable, CaseIterable {
    // Of a connection: rules of the framing layer.
    case preface = "http2.preface"
    case protocolError = "http2.protocol_error"
    case frameSize = "http2.frame_size"
    case flowControl = "http2.flow_control"
    case compression = "http2.compression"
    case streamClosed = "http2.stream_closed"
    case streamID = "http2.stream_id"
    case internalError = "http2.internal_error"
    // Of a connection: limits.
    case rapidReset = "http2.rapid_reset"
    case continuationFlood = "http2.continuation_flood"
    case headerBlockTooLarge = "http2.header_block_too_large"
    case settingsFlood = "http2.settings_flood"
    case pingFlood = "http2.ping_flood"
    case priorityFlood = "http2.priority_flood"
    case emptyDataFlood = "http2.empty_data_flood"
    case windowUpdateFlood = "http2.window_update_flood"
    case emptyHeaderFlood = "http2.empty_header_flood"
    case strayFrameFlood = "http2.stray_frame_flood"
    case controlQueue = "http2.control_queue"
    case bufferLimit = "http2.buffer_limit"
    case headerTimeout = "http2.header_timeout"
    case writeTimeout = "http2.write_timeout"
    // Of a stream: a request that is malformed (RFC 9113 section 8.1.1).
    case malformedHead = "http2.malformed_head"
    case fieldName = "http2.field_name"
    case fieldValue = "http2.field_value"
    case connectionField = "http2.connection_field"
    case pseudoField = "http2.pseudo_field"
    case method = "http2.method"
    case path = "http2.path"
    case scheme = "http2.scheme"
    case authority = "http2.authority"
    case connectProtocol = "http2.connect_protocol"
    case contentLength = "http2.content_length"
    case trailers = "http2.trailers"
    // Of a stream: limits and rules.
    case refusedStream = "http2.refused_stream"
    case streamError = "http2.stream_error"
    case streamWriteTimeout = "http2.stream_write_timeout"

    /// The stable reason code.
    package var code: String { rawValue }

    /// Whether it ends the whole connection.
    package var isOfConnection: Bool {
        switch self {
        case .malformedHead, .fieldName, .fieldValue, .connectionField, .pseudoField, .method, .path, .scheme,
            .authority, .connectProtocol, .contentLength, .trailers, .refusedStream, .streamError,
            .streamWriteTimeout:
            false
        default: true
        }
    }

    /// What the peer is told in GOAWAY or RST_STREAM.
    package var errorCode: HTTP2ErrorCode {
        switch self {
        case .frameSize: .frameSizeError
        case .flowControl: .flowControlError
        case .compression: .compressionError
        case .streamClosed: .streamClosed
        case .internalError: .internalError
        case .refusedStream: .refusedStream
        case .headerTimeout, .writeTimeout: .noError
        case .streamWriteTimeout: .cancel
        case .rapidReset, .continuationFlood, .headerBlockTooLarge, .settingsFlood, .pingFlood, .priorityFlood,
            .emptyDataFlood, .windowUpdateFlood, .emptyHeaderFlood, .strayFrameFlood, .controlQueue, .bufferLimit:
            .enhanceYourCalm
        default: .protocolError
        }
    }

    /// One sentence for logs.
    package var explanation: String {
        switch self {
        case .preface: "the connection does not begin with the preface and SETTINGS"
        case .protocolError: "a frame breaks a rule of its connection"
        case .frameSize: "a frame has a length that its type does not allow"
        case .flowControl: "a flow-control window was overrun or overflowed"
        case .compression: "a header block cannot be decoded"
        case .streamClosed: "a frame came for a stream that its sender had ended"
        case .streamID: "a stream was opened with a number that is not the next"
        case .internalError: "the framing layer gave up"
        case .rapidReset: "too many streams were reset, or made to be reset"
        case .continuationFlood: "a header block has too many CONTINUATION frames"
        case .headerBlockTooLarge: "a coded header block is over its limit"
        case .settingsFlood: "too many SETTINGS frames"
        case .pingFlood: "too many PING frames"
        case .priorityFlood: "too many PRIORITY frames"
        case .emptyDataFlood: "too many DATA frames without content"
        case .windowUpdateFlood: "too many WINDOW_UPDATE frames"
        case .emptyHeaderFlood: "too many header frames or field names without an octet"
        case .strayFrameFlood: "too many frames of unknown types or for streams long gone"
        case .controlQueue: "too many acknowledgements wait for the client"
        case .bufferLimit: "too many octets wait for the client"
        case .headerTimeout: "the preface or a header block was not whole in time"
        case .writeTimeout: "the client took nothing for too long"
        default: streamExplanation
        }
    }

    private var streamExplanation: String {
        switch self {
        case .fieldName: "a field name is empty, in upper case, or no token"
        case .fieldValue: "a field value holds a control byte, or white space at an end"
        case .connectionField: "a field that HTTP/2 does not have: Connection and its like, or TE but trailers"
        case .pseudoField: "a pseudo-field is missing, unknown, given twice, or behind a field"
        case .method: "the method is no token"
        case .path: "the path is empty, does not begin with a slash, or holds a byte that no path holds"
        case .scheme: "the scheme is neither http nor https"
        case .authority: "the authority is no host with an optional port, or differs from Host"
        case .connectProtocol: "an extended CONNECT, which was not offered"
        case .contentLength: "Content-Length is malformed or differs from the content"
        case .trailers: "the trailer section is malformed, over its limit, or does not end the stream"
        case .refusedStream: "more streams than were offered"
        case .streamError: "a frame breaks a rule of its stream"
        case .streamWriteTimeout: "the client opened no window for an answer for too long"
        default: "the head cannot be written as an HTTP/1 head"
        }
    }
}
