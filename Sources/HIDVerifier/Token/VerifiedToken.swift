// SPDX-License-Identifier: Apache-2.0
import HIDCrypto

/// The claims of a token whose issuer signature has verified.
///
/// It may still be expired or blocked: `TokenCheck.reason` and `verdictReason()` say so. Texts are octets of a
/// safe alphabet (letters, digits, `.`, `_`, `~`, `-`), fit for logs and header fields.
public struct VerifiedToken: Sendable {
    /// The kid of the key that signed.
    public let keyID: [UInt8]
    /// Issue time in Unix seconds.
    public let issuedAt: Int64
    /// Expiry in Unix seconds.
    public let expiresAt: Int64
    /// The issuer's verdict; `isBlocked` wins over it.
    public let verdict: Verdict
    /// The claim `blocked`.
    public let isBlocked: Bool
    /// The claim `monitoring`: never refuse for the verdict, only log that it would have been.
    public let isMonitoring: Bool
    /// The device's public key as an uncompressed point of 65 octets on the curve; nil when absent or faulty.
    public let deviceKey: [UInt8]?

    let json: StrictJSON
    let hidRange: Range<Int>
    let tokenIDRange: Range<Int>
    let levelRange: Range<Int>?
    let platformRange: Range<Int>?
    let environmentRange: Range<Int>?
    let scoreRange: Range<Int>?
    let notBefore: Int64?
    /// Whether `cnf` is there and not what it must be.
    let hasFaultyDeviceKey: Bool

    /// The device identifier; never write it to a log in full.
    public var hid: [UInt8] { Array(json.bytes[hidRange]) }
    /// The token's own identifier.
    public var tokenID: [UInt8] { Array(json.bytes[tokenIDRange]) }
    /// The hardware level, for instance `strongbox`.
    public var level: [UInt8]? { levelRange.map { Array(json.bytes[$0]) } }
    /// The platform, for instance `ios`.
    public var platform: [UInt8]? { platformRange.map { Array(json.bytes[$0]) } }
    /// The environment: `production`, `development` or `test`.
    public var environment: [UInt8]? { environmentRange.map { Array(json.bytes[$0]) } }
    /// The score as the issuer wrote it, a JSON number; 0 is human.
    public var score: [UInt8]? { scoreRange.map { Array(json.bytes[$0]) } }

    /// Whether the token says that the device is not wanted, in either way.
    public var refusesDevice: Bool { isBlocked || verdict == .blocked }

    /// The verdict that counts: `blocked: true` wins over any word.
    public var effectiveVerdict: Verdict { isBlocked ? .blocked : verdict }

    /// Why the verdict speaks against the request; nil for `human`.
    ///
    /// `verdictBlock` for blocked, bot and suspicious, `verdictUnknown` for anything that is no known word. The
    /// caller applies the route's policy and `isMonitoring`.
    public func verdictReason() -> Reason? {
        if isBlocked { return .verdictBlock }
        return switch verdict {
        case .human: nil
        case .suspicious, .bot, .blocked: .verdictBlock
        case .unknown: .verdictUnknown
        }
    }

    /// The key under which this token may be used once.
    public var replayKey: ReplayKey {
        let text = json.bytes.span
        return ReplayKey(
            kid: keyID.span, hid: text.extracting(hidRange), tokenID: text.extracting(tokenIDRange))
    }
}

/// The mark of a used token: 16 octets of SHA-256 over kid, hid and jti, each behind its length.
///
/// Never the token's text: an ECDSA signature can be altered into another valid one.
public struct ReplayKey: Sendable, Hashable {
    /// The first eight octets of the digest, big-endian.
    public let high: UInt64
    /// The next eight octets of the digest, big-endian.
    public let low: UInt64

    /// Makes the mark of three identifiers.
    public init(kid: Span<UInt8>, hid: Span<UInt8>, tokenID: Span<UInt8>) {
        var hasher = SHA256Hasher()
        Self.append(kid, to: &hasher)
        Self.append(hid, to: &hasher)
        Self.append(tokenID, to: &hasher)
        let digest = hasher.finish()
        var words: (UInt64, UInt64) = (0, 0)
        for index in 0..<8 {
            words.0 = words.0 << 8 | UInt64(digest[index])
            words.1 = words.1 << 8 | UInt64(digest[index + 8])
        }
        (high, low) = words
    }

    /// The 16 octets, for a store.
    public var bytes: [UInt8] {
        [high, low].flatMap { word in
            stride(from: 56, through: 0, by: -8).map { UInt8(truncatingIfNeeded: word >> UInt64($0)) }
        }
    }

    private static func append(_ text: Span<UInt8>, to hasher: inout SHA256Hasher) {
        let count = UInt32(truncatingIfNeeded: text.count)
        for shift: UInt32 in 0..<4 { hasher.update(UInt8(truncatingIfNeeded: count >> (24 - 8 * shift))) }
        hasher.update(text)
    }
}
