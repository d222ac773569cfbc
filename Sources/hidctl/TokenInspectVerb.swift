// SPDX-License-Identifier: Apache-2.0

import HIDCrypto
import HIDHTTP
import HIDGateway
import HIDService
import HIDVerifier

/// `hidctl token inspect`: what a token says, and whether it would be believed.
enum TokenInspectVerb {
    static func run(
        _ arguments: ParsedArguments, _ environment: ControlEnvironment, _ outcome: inout ControlOutcome
    ) throws(VerbError) {
        let now = try time(arguments, environment)
        let source = try TokenKeySource(arguments)
        let octets = token(arguments.positionals[0], environment)
        let inspection = TokenInspection(octets, now: now, policies: try source?.policies(of: octets, &outcome))
        if inspection.reason != nil { outcome.exit = ExitCode.failure }
        if arguments.has("json") {
            outcome.print(inspection.json.line)
        } else {
            inspection.print(to: &outcome)
        }
    }

    private static func time(
        _ arguments: ParsedArguments, _ environment: ControlEnvironment
    ) throws(VerbError) -> Int64 {
        guard let text = arguments.value("at") else { return environment.now() }
        guard let seconds = ScalarText.integer(text.utf8) else {
            throw .usage("--at \(text.quoted) is no number of Unix seconds")
        }
        return Int64(seconds)
    }

    /// The argument, or standard input without white space at its ends.
    private static func token(_ argument: String, _ environment: ControlEnvironment) -> [UInt8] {
        guard argument == "-" else { return RawArgument.octets(argument) }
        let isSpace: (UInt8) -> Bool = { $0 == 0x20 || (0x09...0x0D).contains($0) }
        let input = environment.readInput(64 << 10).drop(while: isSpace)
        return Array(input.reversed().drop(while: isSpace).reversed())
    }
}

/// A token taken apart; its signature is never shown.
struct TokenInspection {
    enum Verification: String {
        /// No keys were given: form, header and JSON were looked at only.
        case notVerified = "not_verified"
        case accepted
        case refused
    }

    let header: StrictJSON?
    let claims: StrictJSON?
    let verification: Verification
    let reason: Reason?
    /// The token is never refused for its verdict.
    let isMonitoring: Bool
    let now: Int64

    /// `policies` nil: nothing can be verified.
    init(_ token: [UInt8], now: Int64, policies: [IssuerPolicy]?) {
        self.now = now
        (header, _) = Self.decode(token, 0)
        let fault: StrictJSONFault?
        (claims, fault) = Self.decode(token, 1)
        let check = TokenVerifier(issuers: policies ?? []).check(token.span, now: now)
        isMonitoring = check.token?.isMonitoring ?? false
        guard policies == nil else {
            let verdict = check.token?.verdictReason()
            reason = check.reason ?? (isMonitoring ? nil : verdict)
            verification = reason == nil ? .accepted : .refused
            return
        }
        // Without keys the verifier stops at the key, after everything that needs none; the claims come next.
        if check.reason != .keyIDUnknown {
            reason = check.reason
        } else if let fault {
            reason = fault == .duplicateMember ? .claimsDuplicate : .claimsJSON
        } else {
            reason = claims.map { $0.kind($0.root) == .object } == true ? nil : .claimsJSON
        }
        verification = reason == nil ? .notVerified : .refused
    }

    private static func decode(_ token: [UInt8], _ index: Int) -> (StrictJSON?, StrictJSONFault?) {
        guard let bytes = TokenPart.decode(token, index) else { return (nil, nil) }
        do {
            return (try StrictJSON(bytes), nil)
        } catch {
            return (nil, error)
        }
    }

    /// A claim that is a number of seconds.
    func seconds(_ name: StaticString) -> Int64? {
        claims.flatMap { json in json.member(name, of: json.root).flatMap { json.integer($0) } }
    }
}

extension TokenInspection {
    /// The object of `--json`.
    var json: ControlJSON {
        [
            "header": header.map { ControlJSON($0.root, in: $0) } ?? .null,
            "claims": claims.map { ControlJSON($0.root, in: $0) } ?? .null,
            "verdict": ControlJSON(verification.rawValue), "reason": ControlJSON(optional: reason?.code),
            "explanation": ControlJSON(optional: reason?.explanation), "at": .integer(now),
        ]
    }

    /// The lines for a terminal.
    func print(to outcome: inout ControlOutcome) {
        outcome.row("header", header.map { ControlJSON($0.root, in: $0).line } ?? "cannot be read")
        outcome.row("claims", claims.map { ControlJSON($0.root, in: $0).line } ?? "cannot be read")
        if let issued = seconds("iat") { outcome.row("issued", Printable.time(issued) + distance(issued)) }
        if let expires = seconds("exp") { outcome.row("expires", Printable.time(expires) + distance(expires)) }
        switch verification {
        case .notVerified: outcome.row("verdict", "not verified: give --jwks FILE or --config FILE")
        case .accepted:
            outcome.row("verdict", "accepted" + (isMonitoring ? " (monitoring: never refused for its verdict)" : ""))
            outcome.row("", "replay, denylist and the request's signature are the gateway's to judge")
        case .refused:
            outcome.row("verdict", "refused: \(reason?.code ?? "")")
            outcome.row("", reason?.explanation ?? "")
        }
    }

    private func distance(_ time: Int64) -> String {
        let (difference, overflow) = time.subtractingReportingOverflow(now)
        guard !overflow else { return "" }
        return difference > 0 ? ", in \(difference) s" : ", \(difference.magnitude) s ago"
    }
}

/// Parts of a compact JWS, without regard to its signature.
enum TokenPart {
    /// The octets of a part; nil when there are not three parts or it is not base64url.
    static func decode(_ token: [UInt8], _ index: Int) -> [UInt8]? {
        let parts = token.split(separator: Octet.dot, omittingEmptySubsequences: false)
        guard parts.count == 3 else { return nil }
        let part = Array(parts[index])
        return Base64URL.decode(part.span)
    }
}
