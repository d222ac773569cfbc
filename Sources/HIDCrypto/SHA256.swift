// SPDX-License-Identifier: Apache-2.0
import COpenSSL

/// SHA-256 of FIPS 180-4 in one call.
package enum SHA256 {
    /// The 32 octets of a digest, kept in place without an allocation; pass `digest.span` on.
    package typealias Digest = InlineArray<32, UInt8>

    /// Hashes `bytes` into a new array of 32 octets.
    package static func digest(_ bytes: Span<UInt8>) -> [UInt8] {
        let value = hash(bytes)
        var output = [UInt8]()
        output.reserveCapacity(32)
        for index in value.indices { output.append(value[index]) }
        return output
    }

    /// Hashes `bytes` without allocating.
    package static func hash(_ bytes: Span<UInt8>) -> Digest {
        var hasher = SHA256Hasher()
        hasher.update(bytes)
        return hasher.finish()
    }

    /// Hashes `bytes` into storage that exists already.
    ///
    /// - Returns: `false`, with nothing written, when `output` has not exactly 32 octets.
    @discardableResult
    package static func hash(_ bytes: Span<UInt8>, into output: inout MutableSpan<UInt8>) -> Bool {
        guard output.count == 32 else { return false }
        let value = hash(bytes)
        for index in value.indices { output[index] = value[index] }
        return true
    }
}

/// An incremental SHA-256, its state inline: making, using and dropping one allocates nothing.
///
/// A value type: a copy goes on independently of its original.
@safe package struct SHA256Hasher: Sendable {
    private var context = SHA256_CTX()

    /// Starts an empty message.
    package init() {
        unsafe SHA256_Init(&context)
    }

    /// Appends octets to the message.
    package mutating func update(_ bytes: Span<UInt8>) {
        unsafe bytes.withUnsafeBufferPointer { buffer in
            guard let base = buffer.baseAddress, buffer.count > 0 else { return }
            unsafe SHA256_Update(&context, base, buffer.count)
        }
    }

    /// Appends the octets of an array to the message.
    package mutating func update(_ bytes: [UInt8]) {
        update(bytes.span)
    }

    /// Appends one octet to the message.
    package mutating func update(_ byte: UInt8) {
        var one = byte
        unsafe SHA256_Update(&context, &one, 1)
    }

    /// Ends the message and resets the hasher, so that it can take the next one.
    package mutating func finish() -> SHA256.Digest {
        var digest = SHA256.Digest(repeating: 0)
        var view = digest.mutableSpan
        unsafe view.withUnsafeMutableBufferPointer { buffer in
            _ = unsafe SHA256_Final(buffer.baseAddress, &context)
        }
        unsafe SHA256_Init(&context)
        return digest
    }
}
