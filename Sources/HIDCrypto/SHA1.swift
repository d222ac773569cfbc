// SPDX-License-Identifier: Apache-2.0
import COpenSSL

/// SHA-1 of FIPS 180-4, for protocols that are fixed on it and do not rely on it (RFC 6455 section 4.2.2).
///
/// Never a proof of anything.
package enum SHA1 {
    /// The 20 octets of a digest.
    package static func digest(_ bytes: [UInt8]) -> [UInt8] {
        var digest = [UInt8](repeating: 0, count: 20)
        unsafe bytes.withUnsafeBufferPointer { input in
            unsafe digest.withUnsafeMutableBufferPointer { output in
                _ = unsafe COpenSSL.SHA1(input.baseAddress, input.count, output.baseAddress)
            }
        }
        return digest
    }
}
