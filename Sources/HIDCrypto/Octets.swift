// SPDX-License-Identifier: Apache-2.0
import COpenSSL

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

/// The random generator of the library, seeded by the kernel.
package enum SecureRandom {
    /// Makes `count` unpredictable octets.
    ///
    /// - Throws: `operationFailed` when the generator has no entropy; there is no fallback.
    package static func bytes(_ count: Int) throws(CryptoError) -> [UInt8] {
        guard count > 0 else { return [] }
        guard let size = Int32(exactly: count) else {
            throw .operationFailed("random bytes", openSSL: "\(count) octets are too many")
        }
        var output = [UInt8](repeating: 0, count: count)
        OpenSSLErrors.clear()
        let result = unsafe output.withUnsafeMutableBufferPointer { buffer in
            unsafe RAND_bytes(buffer.baseAddress, size)
        }
        guard result == 1 else { throw .operationFailed("random bytes", openSSL: OpenSSLErrors.drain()) }
        return output
    }
}
