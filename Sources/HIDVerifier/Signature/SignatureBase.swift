// SPDX-License-Identifier: Apache-2.0
import HIDCrypto

/// The octets that a device signs; shared by verifier, SDK and tools.
public enum SignatureBase {
    /// The lines of profile v2 joined by LF (PROTOCOL.md section 4).
    ///
    /// - Parameters:
    ///   - method: The method as sent.
    ///   - authority: The Host field or `:authority`; ASCII letters are folded to lower case here.
    ///   - target: The request-target in origin-form, as sent.
    ///   - tokenText: The value of X-HID-Token.
    ///   - bodyDigest: SHA-256 of the body octets.
    /// - Returns: The octets to hash with SHA-256 and sign.
    public static func v2(
        method: Span<UInt8>, authority: Span<UInt8>, target: Span<UInt8>, tokenText: Span<UInt8>,
        bodyDigest: Span<UInt8>
    ) -> [UInt8] {
        var base: [UInt8] = []
        base.reserveCapacity(112 + method.count + authority.count + target.count)
        base.append(contentsOf: prefix)
        for index in method.indices { base.append(method[index]) }
        base.append(lineFeed)
        for index in authority.indices { base.append(TokenAlphabet.lower(authority[index])) }
        base.append(lineFeed)
        for index in target.indices { base.append(target[index]) }
        base.append(lineFeed)
        let tokenDigest = SHA256.hash(tokenText)
        Base64URL.encode(tokenDigest.span, appendingTo: &base)
        base.append(lineFeed)
        Base64URL.encode(bodyDigest, appendingTo: &base)
        return base
    }

    private static let prefix = Array("hid-request-v2\n".utf8)
    private static let lineFeed = UInt8(ascii: "\n")
}
