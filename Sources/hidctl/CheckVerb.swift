// SPDX-License-Identifier: Apache-2.0

import HIDGateway
import HIDIssuer
import HIDService

/// `hidctl check`: all faults of configuration files, as the daemon would see them.
enum CheckVerb {
    static func run(_ arguments: ParsedArguments, _ outcome: inout ControlOutcome) {
        var files: [ControlJSON] = []
        for file in arguments.positionals {
            let (summary, diagnostics) = isIssuer(file) ? issuer(file) : gateway(file)
            if summary == nil { outcome.exit = ExitCode.failure }
            if arguments.has("json") {
                files.append(json(file, isGood: summary != nil, diagnostics))
                continue
            }
            outcome.stderr += diagnostics.rendered
            guard var parts = summary else { continue }
            if diagnostics.warningCount > 0 { parts.append(counted(diagnostics.warningCount, "warning")) }
            outcome.print("\(file): ok, " + parts.joined(separator: ", "))
        }
        if arguments.has("json") { outcome.print((["files": .array(files)] as ControlJSON).line) }
    }

    /// Whether a file is his.yaml: nothing but it has these sections.
    private static func isIssuer(_ file: String) -> Bool {
        guard let bytes = try? FileSystem.contents(of: file, limit: YAMLLimits().bytes),
            let root = YAMLParser.parse(bytes, file: file, reporter: Reporter()),
            case .mapping(let entries) = root.content
        else { return false }
        return entries.contains { ["signing_keys", "apps", "issuer"].contains($0.key) }
    }

    private static func gateway(_ file: String) -> ([String]?, Diagnostics) {
        let (configuration, diagnostics) = GatewayConfiguration.load(path: file)
        guard let configuration else { return (nil, diagnostics) }
        let critical = configuration.routes.count { $0.isCritical }
        let parts = [
            counted(configuration.routes.count, "route") + " (\(critical) critical)",
            counted(configuration.upstreams.count, "upstream"), counted(configuration.issuers.count, "issuer"),
        ]
        return (parts, diagnostics)
    }

    private static func issuer(_ file: String) -> ([String]?, Diagnostics) {
        let (configuration, diagnostics) = HIDIssuer.IssuerConfiguration.load(path: file)
        return (configuration.map { [counted($0.apps.count, "app")] }, diagnostics)
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
