// SPDX-License-Identifier: Apache-2.0
import Testing

/// A faulty configuration and the exact text that `hidctl check` prints for it.
struct ConfigurationFault: Sendable, CustomTestStringConvertible {
    var name: String
    var gateway: String
    /// Contents of r.yaml.
    var rules: String?
    /// With paths relative to the folder of gateway.yaml.
    var expected: String

    init(_ name: String, gateway: String, rules: String? = nil, expected: String) {
        self.name = name
        self.gateway = gateway
        self.rules = rules
        self.expected = expected
    }

    var testDescription: String { name }
}
