// SPDX-License-Identifier: Apache-2.0
import HIDCrypto
import HIDDaemon
import HIDService
import HIDTesting
import Testing

/// Certificates and keys that configurations name, made once.
enum ListenerFiles {
    static let root = Result { try TLSTestAuthority("Server Root") }
    static let main = Result { try root.get().server(["main.example"]) }
    static let api = Result { try root.get().server(["api.example.com"], serial: 0x2A) }
    static let wild = Result { try root.get().server(["*.example.com"]) }

    /// A folder with `main`, `api` and `wild` as PEM and key, and `ca.pem`.
    static func folder() throws -> ConfigurationFolder {
        let folder = try ConfigurationFolder(["nonsense.pem": "nonsense\n"])
        for (name, identity) in [("main", main), ("api", api), ("wild", wild)] {
            try folder.write(name, identity.get())
        }
        try folder.write("ca.pem", root.get().pem)
        return folder
    }
}

extension ConfigurationFolder {
    /// Writes `NAME.pem` and `NAME.key`.
    func write(_ name: String, _ identity: TLSTestIdentity) throws {
        try write("\(name).pem", identity.certificate)
        try write("\(name).key", identity.key)
    }

    /// What a file of listeners comes to, and what is said of it without the folder's name.
    func listeners(_ text: String) -> (listeners: [ListenerConfiguration], faults: String) {
        let reporter = Reporter()
        let file = "\(path)/c.yaml"
        var listeners: [ListenerConfiguration] = []
        if let root = YAMLParser.parse(Array(text.utf8), file: file, reporter: reporter) {
            ConfigurationValue(root, name: "", reporter: reporter).mapping { map in
                listeners = map.listeners(paths: ConfigurationPaths(relativeTo: file))
            }
        }
        return (listeners, removingFolder(reporter.diagnostics.rendered))
    }

    /// One listener with this inside of `tls`.
    func tls(_ inside: String) -> (tls: ListenerTLSConfiguration?, faults: String) {
        let (listeners, faults) = listeners("listeners:\n  - address: 127.0.0.1:1\n    tls:\n\(inside)\n")
        return (listeners.first?.tls, faults)
    }
}
