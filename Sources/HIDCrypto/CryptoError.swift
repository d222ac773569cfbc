// SPDX-License-Identifier: Apache-2.0
import COpenSSL

/// What went wrong in a cryptographic operation that is not a verdict on a signature.
package enum CryptoError: Error, Sendable, Equatable, CustomStringConvertible {
    /// The bytes are no key of the wanted kind; `openSSL` holds the library's own words, or ours.
    case malformedKey(openSSL: String)
    /// The library refused an operation that should have worked.
    case operationFailed(String, openSSL: String)

    package var description: String {
        switch self {
        case .malformedKey(let words): "malformed key: \(words)"
        case .operationFailed(let operation, let words): "\(operation) failed: \(words)"
        }
    }
}

/// The error queue of the calling thread.
enum OpenSSLErrors {
    /// Empties the queue; call it before an operation whose errors will be drained.
    static func clear() {
        ERR_clear_error()
    }

    /// Takes every entry out of the queue and joins their texts, oldest first.
    static func drain() -> String {
        let words = drainEntries().map(\.words)
        return words.isEmpty ? "no details" : words.joined(separator: "; ")
    }

    /// Takes every entry out of the queue, oldest first.
    static func drainEntries() -> [(code: UInt, words: String)] {
        var entries: [(code: UInt, words: String)] = []
        while true {
            let code = ERR_get_error()
            guard code != 0 else { return entries }
            entries.append((code, text(of: code)))
        }
    }

    private static func text(of code: UInt) -> String {
        var buffer = [UInt8](repeating: 0, count: 256)
        unsafe buffer.withUnsafeMutableBytes { raw in
            let chars = unsafe raw.bindMemory(to: CChar.self)
            unsafe ERR_error_string_n(code, chars.baseAddress, chars.count)
        }
        return String(decoding: buffer.prefix { $0 != 0 }, as: UTF8.self)
    }
}
