// SPDX-License-Identifier: Apache-2.0

/// An http or https URL, read strictly and repaired in nothing.
///
/// Not accepted: other schemes, user names, fragments, octets outside printable ASCII.
package struct URLText: Sendable, Hashable {
    package var isTLS: Bool
    /// An IPv6 address is without brackets.
    package var host: String
    package var port: UInt16
    /// Path and query as written; empty or starting with `/`.
    package var target: String

    /// Why a text is no URL; a clause for a message.
    package struct Fault: Error, Sendable, Equatable {
        package var message: String

        package init(message: String) {
            self.message = message
        }
    }

    package init(parsing text: String) throws(Fault) {
        let bytes = Array(text.utf8)
        guard bytes.allSatisfy({ (0x21...0x7E).contains($0) && $0 != 0x5C }) else {
            throw Fault(message: "holds a space, a backslash or an octet outside ASCII")
        }
        if bytes.starts(with: Array("https://".utf8)) {
            isTLS = true
        } else if bytes.starts(with: Array("http://".utf8)) {
            isTLS = false
        } else {
            throw Fault(message: "must start with http:// or https://")
        }
        let rest = bytes.dropFirst(isTLS ? 8 : 7)
        let authorityEnd = rest.firstIndex { $0 == 0x2F || $0 == 0x3F || $0 == 0x23 } ?? rest.endIndex
        guard !rest[..<authorityEnd].contains(0x40) else { throw Fault(message: "must not hold a user name") }
        guard !rest.contains(0x23) else { throw Fault(message: "must not hold a fragment") }
        target = String(decoding: rest[authorityEnd...], as: UTF8.self)
        guard target.isEmpty || target.hasPrefix("/") else { throw Fault(message: "needs a path before its query") }
        do throws(AddressText.Fault) {
            let authority = String(decoding: rest[..<authorityEnd], as: UTF8.self)
            (host, port) = try AddressText.hostAndPort(authority, defaultPort: isTLS ? 443 : 80)
        } catch {
            throw Fault(message: error.message)
        }
        guard port != 0 else { throw Fault(message: "needs a port from 1 to 65535") }
    }
}

extension ConfigurationValue {
    /// An http or https URL.
    package func url() -> URLText? {
        guard let text = scalar("a URL") else { return nil }
        do throws(URLText.Fault) {
            return try URLText(parsing: text)
        } catch {
            self.error("URL \(text.quoted) \(error.message)")
            return nil
        }
    }
}
