// SPDX-License-Identifier: Apache-2.0

import HIDGateway
import HIDService

/// `hidctl check`: all faults of configuration files, as the daemon would see them.
enum CheckVerb {
    static func run(_ arguments: ParsedArguments, _ outcome: inout ControlOutcome) {
        var files: [ControlJSON] = []
        for file in arguments.positionals {
            let (configuration, diagnostics) = GatewayConfiguration.load(path: file)
            if configuration == nil { outcome.exit = ExitCode.failure }
            if arguments.has("json") {
                files.append(json(file, isGood: configuration != nil, diagnostics))
                continue
            }
            outcome.stderr += diagnostics.rendered
            if let configuration { outcome.print(summary(file, configuration, diagnostics)) }
        }
        if arguments.has("json") { outcome.print((["files": .array(files)] as ControlJSON).line) }
    }

    private static func summary(
        _ file: String, _ configuration: GatewayConfiguration, _ diagnostics: Diagnostics
    ) -> String {
        let critical = configuration.routes.count { $0.isCritical }
        var parts = [
            counted(configuration.routes.count, "route") + " (\(critical) critical)",
            counted(configuration.upstreams.count, "upstream"), counted(configuration.issuers.count, "issuer"),
        ]
        if diagnostics.warningCount > 0 { parts.append(counted(diagnostics.warningCount, "warning")) }
        return "\(file): ok, " + parts.joined(separator: ", ")
    }

    private static func counted(_ count: Int, _ noun: String) -> String {
        "\(count) \(noun)\(count == 1 ? "" : "s")"
    }

    private static func json(_ file: String, isGood: Bool, _ diagnostics: Diagnostics) -> ControlJSON {
        let entries = diagnostics.sorted.map { diagnostic -> ControlJSON in
            [
                "severity": ControlJSON(diagnostic.severity.rawValue), "file": ControlJSON(diagnostic.mark.file),
                "line": .integer(Int64(diagnostic.mark.line)), "column": .integer(Int64(diagnostic.mark.column)),
                "message": ControlJSON(diagnostic.message),
            ]
        }
        return ["file": ControlJSON(file), "ok": .bool(isGood), "diagnostics": .array(entries)]
    }
}
