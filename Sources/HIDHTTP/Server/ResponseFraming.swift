// SPDX-License-Identifier: Apache-2.0

/// How the content of an answer is delimited.
package enum ResponseFraming: Equatable {
    /// No content follows: HEAD, 204, 304. The length, if known, is announced where that is allowed.
    case none(announcing: UInt64?)
    case length(UInt64)
    /// Chunked for HTTP/1.1, until close for HTTP/1.0.
    case unknown
}
