// SPDX-License-Identifier: Apache-2.0
import HIDGateway
import HIDService
import HIDTesting

extension ConfigurationFolder {
    /// Loads gateway.yaml; the text has no folder in its paths.
    func load() -> (configuration: GatewayConfiguration?, text: String) {
        let (configuration, diagnostics) = GatewayConfiguration.load(path: "\(path)/gateway.yaml")
        return (configuration, removingFolder(diagnostics.rendered))
    }
}
