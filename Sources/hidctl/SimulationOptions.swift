// SPDX-License-Identifier: Apache-2.0

import HIDHTTP
import HIDGateway
import HIDService
import HIDVerifier

/// What is spoilt after it was signed.
enum TamperedPart: String, CaseIterable {
    case none
    case body
    case signature
    case token
}

/// The command line of `device simulate`, checked.
struct SimulationOptions {
    enum Delivery {
        case send
        case printHeaders
        case printCurl
    }

    let url: GivenURL?
    let request: SignedRequest
    let body: [UInt8]
    /// `Name: value` lines.
    let fields: [[UInt8]]
    let profile: SignatureProfile
    let tampered: TamperedPart
    let verdict: Verdict
    let level: [UInt8]
    let audience: [UInt8]
    let issuer: [UInt8]
    let life: Int64
    let repeats: Int
    let expected: [Int]
    let delivery: Delivery
    let sendsToken: Bool
    let sendsSignature: Bool

    init(_ arguments: ParsedArguments) throws(VerbError) {
        url = try Self.url(arguments)
        let host = arguments.value("host").map(RawArgument.octets) ?? url?.authority ?? []
        let method = RawArgument.octets(arguments.value("method") ?? "POST")
        guard RequestWord.isToken(method) else { throw .usage("--method is no token of HTTP") }
        guard RequestWord.isOneLine(host) else { throw .usage("--host holds a line break") }
        request = SignedRequest(method: method, authority: host, target: url?.target ?? [])
        body = try Self.body(arguments)
        fields = try Self.fields(arguments)
        profile = try Self.word(arguments, "profile", ["v1", "v2"], "v2") == "v1" ? .v1 : .v2
        let parts = TamperedPart.allCases.map(\.rawValue)
        tampered = TamperedPart(rawValue: try Self.word(arguments, "tamper", parts, "none")) ?? .none
        let verdicts = ["human", "suspicious", "bot", "blocked"]
        verdict = Verdict(rawValue: try Self.word(arguments, "verdict", verdicts, "human")) ?? .human
        level = try Self.name(arguments, "level", "software", 32)
        audience = try Self.name(arguments, "audience", "demo-app", 64)
        issuer = Array((arguments.value("issuer") ?? "https://his.example.com").utf8)
        life = try Self.life(arguments)
        repeats = try Self.integer(arguments, "repeat", 1...10_000) ?? 1
        expected = try Self.expected(arguments)
        guard !arguments.has("print-headers") || !arguments.has("print-curl") else {
            throw .usage("give --print-headers or --print-curl, not both")
        }
        delivery =
            arguments.has("print-headers") ? .printHeaders : arguments.has("print-curl") ? .printCurl : .send
        sendsToken = !arguments.has("no-token")
        sendsSignature = sendsToken && !arguments.has("no-signature")
    }

    private static func url(_ arguments: ParsedArguments) throws(VerbError) -> GivenURL? {
        guard let text = arguments.value("url") else {
            guard arguments.value("jwks-out") != nil else { throw .usage("missing option '--url'") }
            return nil
        }
        let octets = RawArgument.octets(text)
        guard let url = GivenURL(octets), !url.authority.isEmpty else {
            throw .usage("--url \(text.quoted) is no http or https URL")
        }
        guard RequestWord.isOneLine(octets), !url.authority.contains(Octet.at), !url.authority.contains(Octet.space)
        else { throw .usage("--url holds a line break or user information") }
        return url
    }

    private static func body(_ arguments: ParsedArguments) throws(VerbError) -> [UInt8] {
        guard let text = arguments.value("body") else { return [] }
        guard text.utf8.first == Octet.at else { return RawArgument.octets(text) }
        return try ControlFile.contents(String(text.dropFirst()), limit: 64 << 20)
    }

    private static func fields(_ arguments: ParsedArguments) throws(VerbError) -> [[UInt8]] {
        var lines: [[UInt8]] = []
        for text in arguments.allValues("header") {
            let octets = RawArgument.octets(text)
            guard let colon = octets.firstIndex(of: Octet.colon), RequestWord.isToken(Array(octets[..<colon])),
                RequestWord.isOneLine(octets)
            else { throw .usage("--header \(text.quoted) is not of the form NAME:VALUE") }
            lines.append(octets)
        }
        return lines
    }

    private static func word(
        _ arguments: ParsedArguments, _ option: String, _ known: [String], _ standard: String
    ) throws(VerbError) -> String {
        guard let word = arguments.value(option) else { return standard }
        guard known.contains(word) else {
            let hint = NearestName.hint(for: word, in: known)
            throw .usage("--\(option) takes \(ScalarText.alternatives(known)), not \(word.quoted)\(hint)")
        }
        return word
    }

    /// A word of the alphabet of app_ids, which is also that of levels.
    private static func name(
        _ arguments: ParsedArguments, _ option: String, _ standard: String, _ limit: Int
    ) throws(VerbError) -> [UInt8] {
        let octets = Array((arguments.value(option) ?? standard).utf8)
        let isName = octets.allSatisfy { octet in
            switch octet {
            case 0x41...0x5A, 0x61...0x7A, 0x30...0x39, 0x2E, 0x5F, 0x2D: true
            default: false
            }
        }
        guard isName, (1...limit).contains(octets.count) else {
            throw .usage("--\(option) is not 1 to \(limit) of letters, digits, '.', '_' and '-'")
        }
        return octets
    }

    private static func life(_ arguments: ParsedArguments) throws(VerbError) -> Int64 {
        let text = arguments.value("life") ?? "30s"
        guard let life = ScalarText.duration(text.utf8), life.components.seconds > 0 else {
            throw .usage("--life \(text.quoted) is no duration such as 30s or 2m")
        }
        return life.components.seconds
    }

    private static func integer(
        _ arguments: ParsedArguments, _ option: String, _ range: ClosedRange<Int>
    ) throws(VerbError) -> Int? {
        guard let text = arguments.value(option) else { return nil }
        guard let value = ScalarText.integer(text.utf8), range.contains(value) else {
            throw .usage("--\(option) \(text.quoted) is no number from \(range.lowerBound) to \(range.upperBound)")
        }
        return value
    }

    private static func expected(_ arguments: ParsedArguments) throws(VerbError) -> [Int] {
        var statuses: [Int] = []
        for text in arguments.allValues("expect") {
            guard let status = ScalarText.integer(text.utf8), (100...599).contains(status) else {
                throw .usage("--expect \(text.quoted) is no status")
            }
            statuses.append(status)
        }
        return statuses
    }
}
