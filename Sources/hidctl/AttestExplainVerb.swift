// SPDX-License-Identifier: Apache-2.0

import HIDCrypto
import HIDIssuer
import HIDService

/// `hidctl attest explain`: replays stored evidence offline, by the code that hisd judges with.
enum AttestExplainVerb {
    static let verb = CommandLineParser.Verb(
        "attest explain", positionals: ["FILE"], options: common + android + apple,
        help: "replay stored attestation evidence and show every check; exit 1 unless it would be accepted")

    private static let common = [
        CommandLineParser.Option("platform", value: "android|ios", required: true, help: "what FILE holds"),
        .init("at", value: "TIME", help: "judge at this moment, as 2026-03-01T00:00:00Z; default: now"),
        .init("challenge-hex", value: "HEX", help: "the nonce that was given out; default: not checked"),
        .init("extra-root", value: "PEM", repeatable: true, help: "trust the certificates of this file as roots, too"),
    ]

    private static let android = [
        CommandLineParser.Option("package", value: "NAME", repeatable: true, help: "android: a package of the app"),
        .init("signer-digest", value: "HEX", repeatable: true, help: "android: SHA-256 of a signer of the app"),
        .init("verified-boot-key", value: "HEX", repeatable: true, help: "android: a boot key that is accepted"),
        .init("revocation-list", value: "JSON", help: "android: the list of revoked attestation keys"),
        .init("allow-attest-key", help: "android: accept a chain through an ATTEST_KEY"),
    ]

    private static let apple = [
        CommandLineParser.Option("app-id", value: "TEAM.BUNDLE", help: "ios: the app; default: that of FILE"),
        .init("environment", value: "WORD", help: "ios: production or development; default: that of FILE"),
    ]

    static func run(
        _ arguments: ParsedArguments, _ environment: ControlEnvironment, _ outcome: inout ControlOutcome
    ) throws(VerbError) {
        let file = arguments.positionals.first ?? ""
        let now = try moment(arguments) ?? environment.now()
        let report: AttestationReport
        switch arguments.value("platform") {
        case "android": report = try explainAndroid(file, arguments, now: now)
        case "ios": report = try explainApple(file, arguments, now: now)
        case let word: throw .usage("--platform takes android or ios, not \((word ?? "").quoted)")
        }
        if arguments.has("json") {
            outcome.stdout += String(decoding: report.jsonLine, as: UTF8.self)
        } else {
            outcome.stdout += report.text
        }
        outcome.exit = report.outcome == .human ? ExitCode.success : ExitCode.failure
    }

    private static func explainAndroid(
        _ file: String, _ arguments: ParsedArguments, now: Int64
    ) throws(VerbError) -> AttestationReport {
        try refuse(["app-id", "environment"], for: "android", arguments)
        var policy = AndroidAttestationPolicy()
        policy.challenge = try octets(arguments, "challenge-hex").first
        let packages = arguments.allValues("package")
        policy.packages = packages.isEmpty ? nil : packages
        let digests = try octets(arguments, "signer-digest")
        policy.signerDigests = digests.isEmpty ? nil : digests
        policy.verifiedBootKeys = try octets(arguments, "verified-boot-key")
        policy.allowAttestKey = arguments.has("allow-attest-key")
        policy.extraRoots = try roots(arguments)
        let list = try revocationList(arguments)
        let pem = try ControlFile.contents(file, limit: PEM.maximumSize)
        let chain: [[UInt8]]
        do throws(PEMFault) {
            chain = try PEM.blocks(pem, label: "CERTIFICATE")
        } catch {
            throw .failure("\(file.quoted) is no PEM: \(error)")
        }
        return AndroidAttestationVerifier(memoisedLinks: 0).verify(
            chain: chain, policy: policy, revocation: list, now: now)
    }

    private static func explainApple(
        _ file: String, _ arguments: ParsedArguments, now: Int64
    ) throws(VerbError) -> AttestationReport {
        try refuse(
            ["package", "signer-digest", "verified-boot-key", "revocation-list", "allow-attest-key"], for: "ios",
            arguments)
        var expectations = AppAttestExpectations(now: now)
        expectations.challenge = try octets(arguments, "challenge-hex").first
        expectations.appID = arguments.value("app-id")
        if let word = arguments.value("environment") {
            guard let environment = AppAttestEnvironment(rawValue: word) else {
                throw .usage("--environment takes production or development, not \(word.quoted)")
            }
            expectations.environment = environment
        }
        expectations.extraRoots = try roots(arguments)
        let bytes = try ControlFile.contents(file, limit: 1 << 20)
        do throws(EvidenceFileFault) {
            return try AppAttestEvidenceFile.parse(bytes).explain(expectations)
        } catch {
            throw .failure("\(file.quoted): \(error)")
        }
    }

    // MARK: - Options

    private static func refuse(
        _ options: [String], for platform: String, _ arguments: ParsedArguments
    ) throws(VerbError) {
        for option in options where arguments.has(option) || arguments.value(option) != nil {
            throw .usage("--\(option) does not go with --platform \(platform)")
        }
    }

    private static func moment(_ arguments: ParsedArguments) throws(VerbError) -> Int64? {
        guard let text = arguments.value("at") else { return nil }
        if let seconds = InternetTime.seconds(Array(text.utf8)) { return seconds }
        let digits = Array(text.utf8)
        if let seconds = StrictInteger.parse(digits.span, maximum: 1 << 40) { return Int64(seconds) }
        throw .usage("--at \(text.quoted) is no time such as 2026-03-01T00:00:00Z")
    }

    private static func octets(_ arguments: ParsedArguments, _ option: String) throws(VerbError) -> [[UInt8]] {
        var found: [[UInt8]] = []
        for text in arguments.allValues(option) {
            guard let octets = Hex.decode(text.filter { $0 != ":" }) else {
                throw .usage("--\(option) \(text.quoted) is no hexadecimal")
            }
            found.append(octets)
        }
        return found
    }

    private static func roots(_ arguments: ParsedArguments) throws(VerbError) -> [Certificate] {
        var roots: [Certificate] = []
        for path in arguments.allValues("extra-root") {
            let pem = try ControlFile.contents(path, limit: PEM.maximumSize)
            do {
                for der in try PEM.blocks(pem, label: "CERTIFICATE") { roots.append(try Certificate(der)) }
            } catch {
                throw .failure("\(path.quoted) holds no certificate that can be read: \(error)")
            }
        }
        return roots
    }

    private static func revocationList(_ arguments: ParsedArguments) throws(VerbError) -> RevocationList? {
        guard let path = arguments.value("revocation-list") else { return nil }
        let bytes = try ControlFile.contents(path, limit: RevocationList.maximumSize)
        do throws(RevocationListFault) {
            return try RevocationList(json: bytes)
        } catch {
            throw .failure("\(path.quoted) is no revocation list: \(error)")
        }
    }
}
