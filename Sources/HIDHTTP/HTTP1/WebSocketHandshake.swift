// SPDX-License-Identifier: Apache-2.0

internal import HIDCrypto

/// The opening handshake of a WebSocket (RFC 6455 section 4).
///
/// A gateway that takes an upgrade for granted opens a tunnel past its own rules: both sides are checked here.
package struct WebSocketHandshake: Sendable, Equatable {
    /// What Sec-WebSocket-Accept must say.
    private let accept: [UInt8]

    private static let connection = FieldName("connection")
    private static let upgrade = FieldName("upgrade")
    private static let websocket = FieldName("websocket")
    private static let key = FieldName("sec-websocket-key")
    private static let version = FieldName("sec-websocket-version")
    private static let acceptName = FieldName("sec-websocket-accept")
    private static let identifier = Array("258EAFA5-E914-47DA-95CA-C5AB0DC85B11".utf8)

    /// Reads a request; nil unless it is a whole handshake: anything less is an ordinary request.
    package init?(_ request: RequestHead) {
        guard request.minorVersion == 1, request.isMethod("GET"), request.framing == .none,
            Self.lists(Self.connection, Self.upgrade, in: request),
            Self.lists(Self.upgrade, Self.websocket, in: request),
            request.count(of: Self.version) == 1, request.count(of: Self.key) == 1,
            let version = request.first(Self.version), request.bytes[version.value].elementsEqual("13".utf8),
            let line = request.first(Self.key)
        else { return nil }
        let key = Array(request.bytes[line.value])
        // 16 octets: 22 letters, of which the last has four unused bits, and two signs of padding.
        guard key.count == 24, Base64.decode(key.span)?.count == 16 else { return nil }
        accept = Base64.encode(SHA1.digest(key + Self.identifier).span)
    }

    /// Whether a 101 answers this handshake and no other.
    package func isAccepted(by response: ResponseHead) -> Bool {
        guard response.status == 101, response.minorVersion == 1,
            Self.lists(Self.connection, Self.upgrade, in: response),
            Self.lists(Self.upgrade, Self.websocket, in: response),
            response.count(of: Self.acceptName) == 1, let line = response.first(Self.acceptName)
        else { return false }
        return response.bytes[line.value].elementsEqual(accept)
    }

    private static func lists(_ name: FieldName, _ token: FieldName, in head: some FieldSection) -> Bool {
        let bytes = head.bytes.span
        for field in head.fields where name.matches(bytes.extracting(field.name)) {
            var elements = ListElements(field.value)
            while let element = elements.next(in: bytes) {
                if token.matches(bytes.extracting(element)) { return true }
            }
        }
        return false
    }
}
