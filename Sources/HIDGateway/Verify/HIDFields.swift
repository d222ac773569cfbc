// SPDX-License-Identifier: Apache-2.0

internal import HIDHTTP

/// The header fields of the protocol (PROTOCOL sections 4 and 6).
enum HIDFields {
    static let token = FieldName("x-hid-token")
    static let signature = FieldName("x-hid-signature")
    /// Everything under this prefix is ours: token and signature come from the client, the rest never does.
    static let prefix = FieldName("x-hid-")

    /// Whether `_` read as `-` turns the name into a HID field.
    static func isTwin(_ name: Span<UInt8>) -> Bool {
        guard name.count >= prefix.bytes.count else { return false }
        for (index, wanted) in prefix.bytes.enumerated() {
            let byte = name[index] == 0x5F ? 0x2D : HIDHTTP.ASCII.lower(name[index])
            guard byte == wanted else { return false }
        }
        return true
    }

    /// Whether the name is under the prefix.
    static func isOurs(_ name: Span<UInt8>) -> Bool {
        prefix.isPrefix(of: name)
    }
}

/// The HID header fields of one request: how often they came and where they stand.
struct HIDHeaders {
    private(set) var token: Range<Int>?
    private(set) var tokenCount = 0
    private(set) var signature: Range<Int>?
    private(set) var signatureCount = 0
    private(set) var hasTwin = false

    init(_ request: RequestHead) {
        let bytes = request.bytes.span
        for field in request.fields {
            let name = bytes.extracting(field.name)
            if field.hasUnderscore {
                if HIDFields.isTwin(name) { hasTwin = true }
            } else if HIDFields.token.matches(name) {
                tokenCount += 1
                token = field.value
            } else if HIDFields.signature.matches(name) {
                signatureCount += 1
                signature = field.value
            }
        }
    }
}
