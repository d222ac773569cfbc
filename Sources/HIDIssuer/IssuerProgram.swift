// SPDX-License-Identifier: Apache-2.0

package import HIDDaemon
internal import HIDService

extension DaemonKind where Configuration == IssuerConfiguration {
    /// The Human Identification Server.
    package static var issuer: DaemonKind {
        DaemonKind(
            name: "hisd", summary: "gives tokens to devices that prove their hardware",
            load: { IssuerConfiguration.load(path: $0) },
            start: { configuration, path, log, _ throws(StartError) in
                try Issuer(configuration: configuration, path: path, log: log)
            },
            readyFields: { ("apps", $0.apps.count) },
            remarks: { configuration, log in remark(configuration, log) },
            drainLimit: { $0.timeouts.drain })
    }

    private static func remark(_ configuration: IssuerConfiguration, _ log: Log) {
        let apps = configuration.apps.values.sorted { $0.appID < $1.appID }
        for app in apps where app.test != nil {
            log.warning("app.test_enabled", ["app_id": .string(app.appID)])
        }
        if apps.contains(where: { $0.android != nil }), configuration.attestation.revocationList == nil {
            log.warning("revocations.not_configured")
        }
        if configuration.store == .memory { log.warning("store.in_memory") }
    }
}
