// SPDX-License-Identifier: Apache-2.0

/// Names that clients choose (PROTOCOL.md section 1).
package enum Identifier {
    package static let appIDLength = 64
    package static let deviceIDLength = 128

    /// Whether a text is 1 to `maximum` of `A-Z a-z 0-9 . _ -`.
    package static func isValid(_ text: [UInt8], maximum: Int) -> Bool {
        (1...maximum).contains(text.count) && text.allSatisfy(isAllowed)
    }

    private static func isAllowed(_ byte: UInt8) -> Bool {
        switch byte {
        case 0x30...0x39, 0x41...0x5A, 0x61...0x7A, 0x2D, 0x2E, 0x5F: true
        default: false
        }
    }
}
