// SPDX-License-Identifier: Apache-2.0
import COpenSSL
import Glibc

/// Comparisons of octet runs; Strings never take part.
package enum Octets {
    /// Whether `bytes` are exactly the UTF-8 octets of a literal.
    package static func equal(_ bytes: Span<UInt8>, _ literal: StaticString) -> Bool {
        guard bytes.count == literal.utf8CodeUnitCount else { return false }
        return literal.withUTF8Buffer { text in
            for index in bytes.indices where unsafe bytes[index] != text[index] { return false }
            return true
        }
    }

    /// Whether two runs hold the same octets; leaves at the first difference, so for public data only.
    package static func equal(_ left: Span<UInt8>, _ right: Span<UInt8>) -> Bool {
        guard left.count == right.count else { return false }
        for index in left.indices where left[index] != right[index] { return false }
        return true
    }
}

/// Whether two secrets are equal, in a time that depends on their lengths only.
package func constantTimeEqual(_ left: Span<UInt8>, _ right: Span<UInt8>) -> Bool {
    guard left.count == right.count else { return false }
    guard !left.isEmpty else { return true }
    return unsafe left.withUnsafeBufferPointer { first in
        unsafe right.withUnsafeBufferPointer { second in
            unsafe CRYPTO_memcmp(first.baseAddress, second.baseAddress, first.count) == 0
        }
    }
}

/// The random generator of the kernel.
///
/// A system call for a nonce takes a tenth of what the generator of OpenSSL does, and there is no state to protect.
package enum SecureRandom {
    /// What getentropy(3) gives at once.
    private static let portion = 256

    /// Makes `count` unpredictable octets.
    ///
    /// - Throws: `operationFailed` when the generator has no entropy; there is no fallback.
    package static func bytes(_ count: Int) throws(CryptoError) -> [UInt8] {
        guard count > 0 else { return [] }
        var output = [UInt8](repeating: 0, count: count)
        let isFilled = unsafe output.withUnsafeMutableBytes { buffer in
            stride(from: 0, to: count, by: portion).allSatisfy { start in
                let part = unsafe buffer[start..<min(start + portion, count)]
                return unsafe getentropy(UnsafeMutableRawBufferPointer(rebasing: part).baseAddress, part.count) == 0
            }
        }
        guard isFilled else { throw .operationFailed("random bytes", openSSL: "getentropy: errno \(errno)") }
        return output
    }
}
