// SPDX-License-Identifier: Apache-2.0

/// A request-target taken apart: where its path and its query are (RFC 9112 section 3.2).
///
/// Accepted are the origin-form, the absolute-form with http or https whose authority is the one of Host, and `*` with
/// OPTIONS. Everything else is refused: user information, fragments, CONNECT, octets that are not visible ASCII.
package struct RequestTarget: Sendable, Equatable {
    package enum Form: Sendable {
        case origin
        case absolute
        case asterisk
    }

    /// The longest accepted target, in octets (RFC 9112 section 3 asks for at least 8,000).
    package static let maximumLength = 8_192

    package let form: Form
    /// The path; empty for an absolute-form that ends with its authority (it means `/`).
    package let path: Range<Int>
    /// The query with its question mark; empty when there is none.
    package let query: Range<Int>

    /// Takes a request-target apart.
    ///
    /// - Parameters:
    ///   - target: the request-target as it came.
    ///   - method: the method as it came.
    ///   - host: the value of Host; empty when there was none, which no absolute-form agrees with.
    /// - Throws: the fault for which it is refused, one of the `target.` family.
    package init(parsing target: Span<UInt8>, method: Span<UInt8>, host: Span<UInt8>) throws(PathFault) {
        guard target.count <= Self.maximumLength else { throw .targetTooLong }
        var question = target.count
        for index in 0..<target.count {
            let octet = target[index]
            guard octet &- 0x21 < 0x5E else { throw .targetBadByte }
            guard octet != ASCII.hash else { throw .targetFragment }
            if octet == ASCII.questionMark, question == target.count { question = index }
        }
        guard !method.equals("CONNECT") else { throw .targetConnect }
        guard target.count > 0 else { throw .targetForm }
        query = question..<target.count
        if target[0] == ASCII.slash {
            form = .origin
            path = 0..<question
        } else if target.count == 1, target[0] == ASCII.asterisk, method.equals("OPTIONS") {
            form = .asterisk
            path = 0..<1
        } else {
            let end = try Self.endOfAuthority(in: target, before: question, host: host)
            form = .absolute
            path = end..<question
        }
    }

    /// Checks scheme and authority of an absolute-form and returns where its path starts.
    ///
    /// - Throws: `target.form`, `target.authority` or `target.authority_mismatch`.
    private static func endOfAuthority(
        in target: Span<UInt8>, before question: Int, host: Span<UInt8>
    ) throws(PathFault) -> Int {
        guard let start = endOfScheme(in: target) else { throw .targetForm }
        var end = start
        while end < question, target[end] != ASCII.slash { end += 1 }
        guard start < end else { throw .targetAuthority }
        for index in start..<end {
            switch target[index] {
            case ASCII.colon, ASCII.leftBracket, ASCII.rightBracket: continue
            case let octet where ASCII.isUnreserved(octet): continue
            default: throw .targetAuthority
            }
        }
        let authority = NormalisedHost.range(of: target.extracting(start..<end), droppingPort: .standard)
        guard !authority.isEmpty else { throw .targetAuthority }
        let own = NormalisedHost.range(of: host, droppingPort: .standard)
        guard authority.count == own.count else { throw .targetAuthorityMismatch }
        for index in 0..<own.count {
            let theirs = target[start + authority.lowerBound + index]
            guard ASCII.lowercased(theirs) == ASCII.lowercased(host[own.lowerBound + index]) else {
                throw .targetAuthorityMismatch
            }
        }
        return end
    }

    /// The offset behind `http://` or `https://`, in any case; nil for anything else.
    package static func endOfScheme(in target: Span<UInt8>) -> Int? {
        for length in [7, 8] where target.count >= length {
            let start = target.extracting(0..<length)
            if start.equals("http://", ignoringCase: true) || start.equals("https://", ignoringCase: true) {
                return length
            }
        }
        return nil
    }
}

/// The one spelling of a host that authorities are compared and rules are matched by.
package enum NormalisedHost {
    /// The longest name that DNS can hold, in octets (RFC 1035 section 2.3.4).
    static let maximumLength = 255

    /// Which port is dropped.
    package enum DroppedPort: Sendable {
        /// 80 and 443: two authorities are compared.
        case standard
        /// Every port: a rule names a host only, and no port may lead around it.
        case every
    }

    /// The part of a host that is left when the port and final dots are dropped.
    ///
    /// One final dot is dropped before authorities are compared, every one before rules are matched.
    package static func range(of host: Span<UInt8>, droppingPort dropped: DroppedPort) -> Range<Int> {
        var end = host.count
        var digits = end
        while digits > 0, ASCII.isDigit(host[digits - 1]) { digits -= 1 }
        if digits > 0, host[digits - 1] == ASCII.colon, !isInsideAddress(host, digits - 1) {
            let port = host.extracting(digits..<end)
            if dropped == .every || port.equals("80") || port.equals("443") || port.isEmpty { end = digits - 1 }
        }
        if end > 0, host[end - 1] == ASCII.dot { end -= 1 }
        while dropped == .every, end > 0, host[end - 1] == ASCII.dot { end -= 1 }
        return 0..<end
    }

    /// Writes the host as rules are matched by: lower case, no port, no final dot.
    package static func write(_ host: Span<UInt8>, into storage: inout [UInt8]) {
        storage.removeAll(keepingCapacity: true)
        for index in range(of: host, droppingPort: .every) {
            storage.append(ASCII.lowercased(host[index]))
        }
    }

    /// Whether a host says which site is meant: a name, not an address, nothing missing and nothing odd in it.
    ///
    /// With any other Host an upstream serves the site it likes, so that rules of every host may be meant.
    package static func isName(_ host: Span<UInt8>) -> Bool {
        guard host.count <= maximumLength else { return false }
        var hasLetter = false
        for index in 0..<host.count {
            switch host[index] {
            case 0x61...0x7A, 0x5F: hasLetter = true
            case 0x30...0x39, 0x2D: continue
            case ASCII.dot:
                if index == 0 || host[index - 1] == ASCII.dot { return false }
            default: return false
            }
        }
        return hasLetter
    }

    /// Whether a colon stands within `[...]` or an address without brackets.
    private static func isInsideAddress(_ host: Span<UInt8>, _ colon: Int) -> Bool {
        for index in 0..<colon where host[index] == ASCII.colon {
            return colon == 0 || host[colon - 1] != ASCII.rightBracket
        }
        return false
    }
}
