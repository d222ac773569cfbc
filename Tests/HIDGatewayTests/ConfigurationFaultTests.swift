// SPDX-License-Identifier: Apache-2.0
import HIDGateway
import HIDTesting
import Testing

@Suite struct ConfigurationFaultTests {
    static let all =
        ConfigurationFault.syntax + ConfigurationFault.gateway
        + ConfigurationFault.gateway2 + ConfigurationFault.gateway3 + ConfigurationFault.rules
        + ConfigurationFault.rules2 + ConfigurationFault.upstreams

    @Test(arguments: all) func `says what is wrong, where, in one run`(fault: ConfigurationFault) throws {
        var files = ["gateway.yaml": fault.gateway]
        files["r.yaml"] = fault.rules
        let (configuration, text) = try ConfigurationFolder(files).load()
        #expect(text == fault.expected)
        #expect((configuration == nil) == text.contains(": error: "))
    }
}
