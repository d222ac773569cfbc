// SPDX-License-Identifier: Apache-2.0

/// Why the octets of a signature were refused before any curve arithmetic.
package enum ECDSASignatureFault: Error, Sendable, Equatable {
    /// Not exactly 64 octets.
    case length
    /// Not the one DER form of a SEQUENCE of two positive INTEGERs.
    case der
    /// r or s is zero, or not below the order of the group.
    case range
}

/// The two forms of an ECDSA P-256 signature: 64 octets r then s (JOSE), and DER (RFC 3279 section 2.2.3).
package enum ECDSASignature {
    /// Checks the length and that r and s are positive and below n.
    package static func fault(ofRaw signature: Span<UInt8>) -> ECDSASignatureFault? {
        guard signature.count == 64 else { return .length }
        let inRange =
            P256Curve.isScalar(signature.extracting(0..<32)) && P256Curve.isScalar(signature.extracting(32..<64))
        return inRange ? nil : .range
    }

    /// Turns strict DER into 64 octets.
    ///
    /// Refused: BER lengths, other tags, octets behind either integer or the sequence, padded or negative integers.
    ///
    /// - Throws: `der` for the form, `range` for well-formed integers that are not in 1 ... n-1.
    package static func parseDER(_ der: Span<UInt8>) throws(ECDSASignatureFault) -> [UInt8] {
        guard der.count >= 2, der[0] == 0x30, der[1] < 0x80, Int(der[1]) == der.count - 2 else { throw .der }
        let first = try integer(in: der, at: 2)
        let second = try integer(in: der, at: first.upperBound)
        guard second.upperBound == der.count else { throw .der }
        var raw = [UInt8](repeating: 0, count: 64)
        guard copy(der.extracting(first), into: &raw, endingAt: 32),
            copy(der.extracting(second), into: &raw, endingAt: 64), fault(ofRaw: raw.span) == nil
        else { throw .range }
        return raw
    }

    /// Writes 64 octets as DER; nil when there are not 64.
    package static func encodeDER(_ raw: Span<UInt8>) -> [UInt8]? {
        guard raw.count == 64 else { return nil }
        var body: [UInt8] = []
        appendInteger(raw.extracting(0..<32), to: &body)
        appendInteger(raw.extracting(32..<64), to: &body)
        return [0x30, UInt8(truncatingIfNeeded: body.count)] + body
    }

    /// The content range of the INTEGER at `offset`: positive and as short as possible.
    private static func integer(in der: Span<UInt8>, at offset: Int) throws(ECDSASignatureFault) -> Range<Int> {
        guard offset + 2 < der.count, der[offset] == 0x02, der[offset + 1] < 0x80 else { throw .der }
        let start = offset + 2
        let end = start + Int(der[offset + 1])
        guard end > start, end <= der.count, der[start] < 0x80 else { throw .der }
        if der[start] == 0, end - start > 1, der[start + 1] < 0x80 { throw .der }
        return start..<end
    }

    private static func copy(_ integer: Span<UInt8>, into raw: inout [UInt8], endingAt end: Int) -> Bool {
        var first = 0
        if integer.count > 1, integer[0] == 0 { first = 1 }
        let count = integer.count - first
        guard count <= 32 else { return false }
        for index in 0..<count { raw[end - count + index] = integer[first + index] }
        return true
    }

    private static func appendInteger(_ value: Span<UInt8>, to output: inout [UInt8]) {
        var first = 0
        while first < value.count - 1, value[first] == 0 { first += 1 }
        let padding = value[first] >= 0x80 ? 1 : 0
        output.append(0x02)
        output.append(UInt8(truncatingIfNeeded: value.count - first + padding))
        if padding == 1 { output.append(0) }
        for index in first..<value.count { output.append(value[index]) }
    }
}
