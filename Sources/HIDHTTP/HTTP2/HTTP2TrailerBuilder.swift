// SPDX-License-Identifier: Apache-2.0

/// Checks the trailer section of a request and keeps what may be passed on (RFC 9110 section 6.5.1).
///
/// Lines that would mean something to framing, routing or authentication, and all names a hop protects, are dropped.
/// The rest is kept apart from the head and never merged into it.
struct HTTP2TrailerBuilder {
    private let policy: ConnectionPolicy
    private let limits: BodyLimits
    private var octets = 0
    private var count = 0
    /// Field lines as in HTTP/1, without the empty line.
    private(set) var lines: [UInt8] = []
    private(set) var fault: HTTP2Fault?

    init(policy: ConnectionPolicy, limits: BodyLimits = BodyLimits()) {
        self.policy = policy
        self.limits = limits
    }

    /// Takes the next field as it was decoded.
    mutating func add(name: Span<UInt8>, value: Span<UInt8>) {
        octets += name.count + value.count + 4
        count += 1
        guard fault == nil else { return }
        guard octets <= limits.trailerBytes, count <= limits.trailerFields else { return fault = .trailers }
        if HTTP2FieldRules.fault(name: name, value: value) != nil { return fault = .trailers }
        guard !HTTP2FieldRules.isHeadOnly(name, policy) else { return }
        for index in name.indices where name[index] == 0x5F { return }
        lines.append(copying: name)
        lines.append(literal: ": ")
        lines.append(copying: value)
        lines.append(literal: "\r\n")
    }
}
