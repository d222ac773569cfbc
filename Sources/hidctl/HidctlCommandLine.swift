// SPDX-License-Identifier: Apache-2.0

import HIDGateway
import HIDService

/// The verbs of hidctl and their options.
enum HidctlCommandLine {
    typealias Option = CommandLineParser.Option
    typealias Verb = CommandLineParser.Verb

    static let defaultConfiguration = "/etc/hidgate/gateway.yaml"

    static let parser = CommandLineParser(
        program: "hidctl", summary: "checks, tries and operates hidgated and hisd",
        options: [
            Option("json", help: "print one JSON object on stdout"),
            Option("help", help: "this text, or that of a verb"),
            Option("version", help: "the version"),
        ],
        verbs: [
            check, routesTest, tokenInspect, deviceSimulate, AttestExplainVerb.verb, KeysVerb.list, KeysVerb.rotate,
        ])

    static let check = Verb(
        "check", positionals: ["FILE..."], count: 1...1_000,
        help: "check gateway.yaml with its rule files, or his.yaml, and show every fault")

    static let routesTest = Verb(
        "routes test", positionals: ["METHOD", "URL"],
        options: [
            Option("config", value: "FILE", help: "the configuration; default \(defaultConfiguration)"),
            Option(
                "host", value: "HOST",
                help: "the Host field; URL is then the request-target as it stands in the request line"),
        ],
        help: "show which rule a request meets and what it demands; exit 1 when the target is refused")

    static let tokenInspect = Verb(
        "token inspect", positionals: ["TOKEN"],
        options: [
            Option("jwks", value: "FILE", help: "verify with this key set"),
            Option("issuer", value: "ISS", help: "with --jwks: the issuer to expect; default: whatever the token says"),
            Option(
                "audience", value: "AUD", repeatable: true,
                help: "with --jwks: an audience to accept; default: whatever the token says"),
            Option("config", value: "FILE", help: "verify as the gateway with this configuration does"),
            Option("at", value: "UNIX_SECONDS", help: "judge the times at this moment; default: now"),
        ],
        help: "decode a token (- reads it from stdin) and verify it; exit 1 when it is refused")

    static let deviceSimulate = Verb(
        "device simulate", options: simulateServer + simulateKeys + simulateToken + simulateRequest,
        help: "act as a phone with a software key, with tokens of hisd (--his) or of a local issuer key; "
            + "exit 1 without the expected answer")

    private static let simulateServer = [
        Option(
            "his", value: "URL",
            help: "run the SDK's whole flow against this server: challenge, attestation or key proof, token"),
        Option(
            "authority-key", value: "PEM",
            help: "the private key of a test authority, for --his; made with mode 0600 if missing"),
        Option(
            "authority-out", value: "FILE",
            help: "write its public key, for authority_keys in his.yaml; enough without --his"),
        Option("device-id", value: "ID", help: "with --his: the device_id; default: made once, kept with the key"),
        Option("his-ca", value: "PEM", help: "with --his: roots to trust for https"),
        Option("expect-error", value: "CODE", help: "with --his: exit 0 only when the server refuses with this code"),
    ]

    private static let simulateKeys = [
        Option("issuer-key", value: "PEM", help: "a local issuer's key; made with mode 0600 if missing"),
        Option("jwks-out", value: "FILE", help: "write the issuer's public key set; enough without --url"),
        Option("device-key", value: "PEM", help: "the device key; made if missing; default: a new one in memory"),
    ]

    private static let simulateToken = [
        Option("issuer", value: "ISS", help: "the claim iss; default https://his.example.com"),
        Option("audience", value: "APP", help: "the claim aud, an app_id; default demo-app"),
        Option(
            "verdict", value: "WORD",
            help: "human, suspicious, bot or blocked; with --his blocked plays an unlocked boot loader; default human"),
        Option(
            "level", value: "WORD",
            help: "the claim lvl; with --his software plays an emulator; default software, with --his tee"),
        Option("life", value: "DURATION", help: "how long the token lives; default 30s"),
        Option("no-token", help: "send neither token nor signature"),
        Option("no-signature", help: "send a token but no signature"),
    ]

    private static let simulateRequest = [
        Option("url", value: "URL", help: "where to send the request; path and query go out octet for octet"),
        Option("host", value: "HOST", help: "the Host field; default: that of the URL"),
        Option("method", value: "METHOD", help: "default POST"),
        Option("body", value: "TEXT|@FILE", help: "the content; default none"),
        Option("header", value: "NAME:VALUE", repeatable: true, help: "a further header field"),
        Option("profile", value: "v1|v2", help: "the signature profile; default v2"),
        Option("tamper", value: "PART", help: "spoil body, signature or token after signing; default none"),
        Option("repeat", value: "N", help: "send the same request with the same token N times in all"),
        Option("ca", value: "PEM", help: "roots to trust for https"),
        Option("print-headers", help: "print the header fields and send nothing"),
        Option("print-curl", help: "print a curl command and send nothing"),
        Option(
            "expect", value: "STATUS", repeatable: true,
            help: "exit 1 on another status; given again: of the next request"),
    ]
}
