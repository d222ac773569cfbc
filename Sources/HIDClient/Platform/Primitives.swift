// SPDX-License-Identifier: Apache-2.0

#if canImport(CryptoKit)
    internal import CryptoKit
    internal import Foundation
#else
    internal import HIDCrypto
#endif

/// The little cryptography and encoding that the SDK itself does: CryptoKit on Apple platforms, HIDCrypto elsewhere.
enum Primitives {
    #if canImport(CryptoKit)
        static func sha256(_ bytes: [UInt8]) -> [UInt8] { Array(CryptoKit.SHA256.hash(data: bytes)) }

        /// Standard base64 with padding.
        static func base64(_ bytes: [UInt8]) -> String { Data(bytes).base64EncodedString() }

        /// The octets of base64url without padding; nil for anything that an encoder would not have written.
        static func decodeBase64URL(_ text: String) -> [UInt8]? {
            guard ASCIIText.isBase64URL(text.utf8), text.utf8.count % 4 != 1 else { return nil }
            var standard = text.replacingOccurrences(of: "-", with: "+").replacingOccurrences(of: "_", with: "/")
            standard += String(repeating: "=", count: (4 - standard.utf8.count % 4) % 4)
            guard let data = Data(base64Encoded: standard) else { return nil }
            let bytes = Array(data)
            // Foundation takes unused bits that are not zero.
            return base64URL(bytes) == text ? bytes : nil
        }

        /// 64 octets r then s of a signature in DER; nil when it is none.
        static func rawSignature(der: [UInt8]) -> [UInt8]? {
            (try? P256.Signing.ECDSASignature(derRepresentation: der)).map { Array($0.rawRepresentation) }
        }

        /// The DER of 64 octets r then s; nil when they are no signature.
        static func derSignature(raw: [UInt8]) -> [UInt8]? {
            (try? P256.Signing.ECDSASignature(rawRepresentation: raw)).map { Array($0.derRepresentation) }
        }
    #else
        static func sha256(_ bytes: [UInt8]) -> [UInt8] { SHA256.digest(bytes.span) }

        /// Standard base64 with padding.
        static func base64(_ bytes: [UInt8]) -> String {
            String(decoding: Base64.encode(bytes.span), as: UTF8.self)
        }

        /// The octets of base64url without padding; nil for anything that an encoder would not have written.
        static func decodeBase64URL(_ text: String) -> [UInt8]? {
            let bytes = Array(text.utf8)
            return Base64URL.decode(bytes.span)
        }

        /// 64 octets r then s of a signature in DER; nil when it is none.
        static func rawSignature(der: [UInt8]) -> [UInt8]? { try? ECDSASignature.parseDER(der.span) }

        /// The DER of 64 octets r then s; nil when they are no signature.
        static func derSignature(raw: [UInt8]) -> [UInt8]? {
            guard ECDSASignature.fault(ofRaw: raw.span) == nil else { return nil }
            return ECDSASignature.encodeDER(raw.span)
        }
    #endif

    /// base64url without padding.
    static func base64URL(_ bytes: [UInt8]) -> String {
        let text = base64(bytes).utf8.compactMap { byte -> UInt8? in
            switch byte {
            case UInt8(ascii: "+"): UInt8(ascii: "-")
            case UInt8(ascii: "/"): UInt8(ascii: "_")
            case UInt8(ascii: "="): nil
            default: byte
            }
        }
        return String(decoding: text, as: UTF8.self)
    }

    /// Unpredictable octets: the system's generator, which cannot fail.
    static func random(_ count: Int) -> [UInt8] {
        var generator = SystemRandomNumberGenerator()
        return (0..<count).map { _ in UInt8.random(in: .min ... .max, using: &generator) }
    }
}

/// A signature by the device's key in both of its forms.
struct DeviceSignature: Sendable, Equatable {
    /// 64 octets r then s.
    let raw: [UInt8]
    private let der: [UInt8]

    /// Reads what a key holder gave: 64 octets are r then s, anything else must be DER.
    ///
    /// - Throws: `malformedSignature`.
    init(_ octets: [UInt8]) throws(HumanIDKeyError) {
        let raw = octets.count == 64 ? octets : Primitives.rawSignature(der: octets)
        guard let raw, let der = Primitives.derSignature(raw: raw) else { throw .malformedSignature }
        self.raw = raw
        self.der = der
    }

    /// The value of profile v1: base64 of the DER, or of r then s where the DER has 64 octets and would be misread.
    var v1: String { Primitives.base64(der.count == 64 ? raw : der) }

    /// The value of profile v2.
    var v2: String { "v2." + Primitives.base64URL(raw) }
}
