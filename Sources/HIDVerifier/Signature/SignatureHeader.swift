// SPDX-License-Identifier: Apache-2.0
import HIDCrypto

/// What an X-HID-Signature is over.
public enum SignatureProfile: Sendable, Equatable {
    /// The body octets alone.
    case v1
    /// Method, authority, target, token and body.
    case v2
}

/// The profiles that a route accepts.
public struct SignatureProfiles: OptionSet, Sendable {
    /// One bit a profile.
    public let rawValue: UInt8

    /// Makes a set of its bits.
    public init(rawValue: UInt8) {
        self.rawValue = rawValue
    }

    /// Over the body octets alone, as `signRequestBody(body)` makes it.
    public static let v1 = SignatureProfiles(rawValue: 1)
    /// Bound to the whole request, as `signRequest(...)` makes it.
    public static let v2 = SignatureProfiles(rawValue: 2)
}

/// A well-formed value of X-HID-Signature: cheap to make, and made before the body is read.
public struct SignatureHeader: Sendable, Equatable {
    /// The most characters of a value.
    public static let maximumLength = 160

    /// What the signature is over.
    public let profile: SignatureProfile
    /// 64 octets, r then s, both in range.
    public let octets: [UInt8]

    /// Reads a field value.
    ///
    /// v1 is standard base64 with padding or base64url without, of 64 octets or of strict DER; v2 is `v2.` and
    /// base64url of 64 octets.
    ///
    /// - Parameters:
    ///   - value: The field's octets without surrounding white space.
    ///   - accepting: What the route accepts; another profile is `signatureProfile`.
    /// - Returns: The octets in range and their profile, or the reason of the refusal.
    public static func parse(
        _ value: Span<UInt8>, accepting: SignatureProfiles
    ) -> Result<SignatureHeader, Reason> {
        do throws(Reason) {
            return .success(try SignatureHeader(value, accepting: accepting))
        } catch {
            return .failure(error)
        }
    }

    private init(_ value: Span<UInt8>, accepting: SignatureProfiles) throws(Reason) {
        guard !Self.isBlank(value) else { throw .signatureMissing }
        guard value.count <= Self.maximumLength else { throw .signatureTooLong }
        let isBound = value.count >= 3 && Octets.equal(value.extracting(0..<3), "v2.")
        if isBound {
            octets = try Self.boundOctets(value.extracting(3..<value.count))
        } else {
            octets = try Self.octets(Self.decode(value))
        }
        profile = isBound ? .v2 : .v1
        guard accepting.contains(isBound ? .v2 : .v1) else { throw .signatureProfile }
    }

    private static func isBlank(_ value: Span<UInt8>) -> Bool {
        for index in value.indices where value[index] != 0x20 && value[index] != 0x09 { return false }
        return true
    }

    private static func boundOctets(_ text: Span<UInt8>) throws(Reason) -> [UInt8] {
        guard let decoded = Base64URL.decode(text) else { throw .signatureBase64 }
        try check(ECDSASignature.fault(ofRaw: decoded.span))
        return decoded
    }

    /// One alphabet a value: padding, `+` or `/` make it standard base64, which then needs its padding.
    private static func decode(_ value: Span<UInt8>) throws(Reason) -> [UInt8] {
        var isStandard = false
        for index in value.indices {
            let byte = value[index]
            isStandard =
                isStandard || byte == UInt8(ascii: "=") || byte == UInt8(ascii: "+") || byte == UInt8(ascii: "/")
        }
        let decoded = isStandard ? Base64.decode(value) : Base64URL.decode(value)
        guard let decoded else { throw .signatureBase64 }
        return decoded
    }

    /// 64 octets are always r then s, anything else must be DER; the rest only gives the fault its best name.
    private static func octets(_ decoded: [UInt8]) throws(Reason) -> [UInt8] {
        if decoded.count == 64 {
            try check(ECDSASignature.fault(ofRaw: decoded.span))
            return decoded
        }
        do {
            return try ECDSASignature.parseDER(decoded.span)
        } catch {
            guard error == .der else { throw .signatureRange }
        }
        if decoded.first == 0x30 { throw .signatureDER }
        if decoded.count < 67 { throw .signatureLength }
        throw decoded.count <= 80 ? .signatureDER : .signatureFormat
    }

    private static func check(_ fault: ECDSASignatureFault?) throws(Reason) {
        switch fault {
        case nil: return
        case .length: throw .signatureLength
        case .der: throw .signatureDER
        case .range: throw .signatureRange
        }
    }
}
