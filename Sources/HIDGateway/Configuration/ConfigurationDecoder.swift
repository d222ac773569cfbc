// SPDX-License-Identifier: Apache-2.0
internal import HIDDaemon
package import HIDService

extension GatewayConfiguration {
    /// Reads gateway.yaml and its rule files.
    ///
    /// Gives nil after any error; warnings leave a configuration. Reads files, so not for event loops.
    package static func load(path: String) -> (GatewayConfiguration?, Diagnostics) {
        let reporter = Reporter()
        let decoder = ConfigurationDecoder(path: path, reporter: reporter)
        decoder.decode()
        let diagnostics = reporter.diagnostics
        return (diagnostics.hasErrors ? nil : decoder.configuration, diagnostics)
    }
}

/// One run over gateway.yaml and its rule files.
///
/// The sections are in extensions beside it; what needs more than one section is in `checkReferences`.
final class ConfigurationDecoder {
    /// A name and where it is used.
    struct Reference {
        var name: String
        var mark: Mark
    }
    /// Where the parts of a rule stand.
    struct RuleMarks {
        var name: Mark
        var match: Mark
        var critical: Mark?
        var mode: Mark?
    }

    let reporter: Reporter
    let path: String
    let paths: ConfigurationPaths
    var configuration = GatewayConfiguration()
    var upstreamReferences: [Reference] = []
    /// One for each element of `configuration.routes`.
    var ruleMarks: [RuleMarks] = []
    /// False after a fault in the section itself, so that its names are not missed a second time.
    var knowsUpstreams = true
    /// True when nobody wrote an issuer, not even a faulty one.
    var lacksIssuers = true
    private var loadedFiles: Set<String> = []

    init(path: String, reporter: Reporter) {
        self.path = path
        self.reporter = reporter
        paths = ConfigurationPaths(relativeTo: path)
    }

    func decode() {
        let start = Mark(file: path, line: 1, column: 1)
        guard let root = parse(path, named: start) else { return }
        ConfigurationValue(root, name: "", reporter: reporter).mapping(decodeRoot)
        checkReferences()
    }

    private func decodeRoot(_ map: MappingReader) {
        if let version = map.required("version"), let number = version.scalar("1"), number != "1" {
            version.mustBe("1")
        }
        configuration.listeners = map.listeners(paths: paths)
        decodeUpstreams(map)
        map.value("resolver")?.mapping(decodeResolver)
        decodeIssuers(map)
        map.required("defaults")?.mapping(decodeDefaults)
        map.value("sessions")?.mapping(decodeSessions)
        map.value("store")?.mapping(decodeStore)
        map.value("admin")?.mapping { admin in
            configuration.admin = admin.admin(beside: configuration.listeners, existingFile: paths.existingFile)
        }
        map.value("access_log")?.mapping(decodeAccessLog)
        map.value("limits")?.mapping(decodeLimits)
        map.value("timeouts")?.mapping { timeouts in
            configuration.timeouts = timeouts.timeouts()
            configuration.tunnelIdle = timeouts.value("tunnel_idle")?.duration() ?? configuration.tunnelIdle
        }
        configuration.loops = map.value("loops")?.integer(in: 0...256) ?? 0
        if let value = map.value("state_directory"), let text = value.string() {
            if !text.hasPrefix("/") { value.mustBe("an absolute path") }
            configuration.stateDirectory = text
        }
        for pattern in map.value("rules")?.list() ?? [] {
            decodeRules(pattern)
        }
    }

    /// The tree of a file whose octets then count for the fingerprint.
    private func parse(_ file: String, named mark: Mark) -> YAMLNode? {
        do throws(SystemFault) {
            let bytes = try FileSystem.contents(of: file, limit: YAMLLimits().bytes)
            configuration.fingerprint = Fingerprint.extending(configuration.fingerprint, with: bytes)
            return YAMLParser.parse(bytes, file: file, reporter: reporter)
        } catch {
            reporter.error("cannot read \(file.quoted): \(error)", at: mark)
            return nil
        }
    }

    // MARK: Rule files

    private func decodeRules(_ pattern: ConfigurationValue) {
        guard let text = pattern.string() else { return }
        let files = matchingFiles(text, pattern)
        for file in files {
            guard loadedFiles.insert(file).inserted else {
                pattern.warning("\(file.quoted) is already loaded by an earlier pattern")
                continue
            }
            guard let root = parse(file, named: pattern.mark) else { continue }
            ConfigurationValue(root, name: "", reporter: reporter).mapping { map in
                for route in map.required("routes")?.list() ?? [] {
                    route.mapping(decodeRoute)
                }
            }
        }
    }

    private func matchingFiles(_ text: String, _ pattern: ConfigurationValue) -> [String] {
        let full = paths.resolved(text)
        guard full.contains("*") else { return [full] }
        let nameStart = full.lastIndex(of: "/").map { full.index(after: $0) } ?? full.startIndex
        let (folder, name) = (String(full[..<nameStart]), String(full[nameStart...]))
        guard !folder.contains("*") else {
            pattern.error("pattern \(text.quoted) may hold '*' only in its last part")
            return []
        }
        let names: [String]
        do throws(SystemFault) {
            names = try FileSystem.names(in: folder.isEmpty ? "." : folder)
        } catch {
            if error.code == SystemFault.notFound {
                pattern.warning("no file matches \(text.quoted)")
            } else {
                pattern.error("cannot read \(folder.quoted): \(error)")
            }
            return []
        }
        let found = names.filter { FileSystem.matches($0, pattern: name) }
        if found.isEmpty { pattern.warning("no file matches \(text.quoted)") }
        return found.map { folder + $0 }
    }
}

/// FNV-1a, 64 bit.
private enum Fingerprint {
    static func extending(_ state: UInt64, with bytes: [UInt8]) -> UInt64 {
        bytes.reduce(state == 0 ? 0xcbf2_9ce4_8422_2325 : state) { ($0 ^ UInt64($1)) &* 0x0000_0100_0000_01b3 }
    }
}
