// SPDX-License-Identifier: Apache-2.0

import HIDClient
import HIDCrypto
import HIDGateway
import HIDHTTP
import HIDService
import HIDVerifier

/// `hidctl device simulate`: a phone with a software key.
enum DeviceSimulateVerb {
    static func run(
        _ arguments: ParsedArguments, _ environment: ControlEnvironment, _ outcome: inout ControlOutcome
    ) throws(VerbError) {
        if try AuthorityKeyPair.isAllThatIsAsked(arguments) { return try AuthorityKeyPair.make(arguments, &outcome) }
        let options = try SimulationOptions(arguments)
        let source = try source(arguments, options, &outcome)
        guard let parts = try parts(source, options, now: environment.now(), &outcome) else { return }
        guard let url = options.url else { return tell(parts, options, &outcome) }
        let request = SimulatedRequest(options, parts)
        switch options.delivery {
        case .send:
            let run = SimulationRun(options, url, request, certificateAuthorities: arguments.value("ca"))
            run.perform(parts, isJSON: options.isJSON, &outcome)
        case .printHeaders, .printCurl:
            guard !options.isJSON else { return outcome.print(request.json(hid: parts.hid).line) }
            if options.delivery == .printCurl {
                outcome.print(request.curlCommand(options, url))
            } else {
                for line in request.headerLines { outcome.print(line) }
            }
        }
    }

    /// What is told without a request: who the device is, and a token that a server gave.
    private static func tell(_ parts: SignedParts, _ options: SimulationOptions, _ outcome: inout ControlOutcome) {
        if options.isJSON {
            var members: [(name: [UInt8], value: ControlJSON)] = [
                (Array("requests".utf8), .array([])), (Array("hid".utf8), .text(parts.hid)),
            ]
            if options.server != nil { members.append((Array("token".utf8), ControlJSON(optional: parts.token))) }
            outcome.print(ControlJSON.object(members).line)
        } else if options.server != nil {
            outcome.row("token", Printable.text(parts.token ?? []))
        }
    }

    private static func source(
        _ arguments: ParsedArguments, _ options: SimulationOptions, _ outcome: inout ControlOutcome
    ) throws(VerbError) -> TokenSource {
        if let server = options.server {
            let pair = try AuthorityKeyPair(key: server.authorityKey, out: server.authorityOut)
            if !options.isJSON, options.delivery == .send { pair.describe(&outcome) }
            guard options.sendsToken else { return .none }
            return .server(try ServerDevice(options, server))
        }
        let (issuer, device) = try parties(arguments, options, &outcome)
        return options.sendsToken ? .localIssuer(issuer, device) : .none
    }

    /// Token and signature; nil when the server refused as was expected, or when only key files were wanted.
    private static func parts(
        _ source: TokenSource, _ options: SimulationOptions, now: Int64, _ outcome: inout ControlOutcome
    ) throws(VerbError) -> SignedParts? {
        switch source {
        case .none: return SignedParts(token: nil, signature: nil, hid: [])
        case .localIssuer(let issuer, let device):
            do throws(CryptoError) {
                let token = try issuer.token(for: device, at: now)
                let signature =
                    options.sendsSignature
                    ? try device.signature(options.profile, of: options.request, token: token, body: options.body) : nil
                return SignedParts(token: token, signature: signature, hid: device.hid(for: options.audience))
            } catch {
                throw .failure("\(error)")
            }
        case .server(let device): return try judge(device.sign(options), options, &outcome)
        }
    }

    private static func judge(
        _ result: Result<SignedParts, HumanIDError>, _ options: SimulationOptions, _ outcome: inout ControlOutcome
    ) throws(VerbError) -> SignedParts? {
        var code: String?
        if case .failure(let error) = result, case .rejected(let refusal, _)? = error.failure { code = refusal }
        switch (result, options.expectedError) {
        case (.success(let parts), nil):
            if !options.isJSON, options.delivery == .send { outcome.row("device", "hid \(Printable.text(parts.hid))") }
            return parts
        case (.success, let expected?): throw .failure("the server gave a token, expected \(expected)")
        case (.failure(let error), let expected?) where code == expected:
            if options.isJSON {
                outcome.print((["requests": .array([]), "error": ControlJSON(expected)] as ControlJSON).line)
            } else {
                outcome.row("no token", "\(error)")
            }
            return nil
        case (.failure(let error), _): throw .failure("\(error)")
        }
    }

    /// Reads or makes the keys and writes the key set.
    private static func parties(
        _ arguments: ParsedArguments, _ options: SimulationOptions, _ outcome: inout ControlOutcome
    ) throws(VerbError) -> (LocalIssuer, SoftwareDevice) {
        guard let issuerPath = arguments.value("issuer-key") else {
            throw .usage("missing option '--his' or '--issuer-key'")
        }
        let speaks = !options.isJSON && options.delivery == .send
        let (issuerKey, isNewIssuer) = try ControlFile.key(issuerPath)
        let issuer = LocalIssuer(
            key: issuerKey, issuer: options.issuer, audience: options.audience, verdict: options.verdict,
            level: options.level, life: options.life)
        if speaks { outcome.row("issuer", "\(Printable.text(issuerPath))\(isNewIssuer ? " (made)" : "")") }
        if let path = arguments.value("jwks-out") {
            try ControlFile.replace(path, with: issuer.keySet)
            if speaks {
                outcome.row("key set", "\(Printable.text(path)), kid \(Printable.text(issuerKey.publicKey.thumbprint))")
            }
        }
        let device: SoftwareDevice
        var note = "a new key in memory"
        if let path = arguments.value("device-key") {
            let (key, isNew) = try ControlFile.key(path)
            device = SoftwareDevice(key: key)
            note = Printable.text(path) + (isNew ? " (made)" : "")
        } else {
            do { device = SoftwareDevice(key: try P256PrivateKey()) } catch { throw .failure("\(error)") }
        }
        if speaks { outcome.row("device", "\(note), hid \(Printable.text(device.hid(for: options.audience)))") }
        return (issuer, device)
    }
}

/// One request with its HID header fields, signed and, when wanted, spoilt.
struct SimulatedRequest {
    let token: [UInt8]?
    let signature: [UInt8]?
    let body: [UInt8]

    init(_ options: SimulationOptions, _ parts: SignedParts) {
        token = options.tampered == .token ? parts.token.map(Self.withOtherClaims) : parts.token
        signature = options.tampered == .signature ? parts.signature.map(Self.spoilt) : parts.signature
        body = options.tampered == .body ? options.body + [Octet.space] : options.body
    }

    /// A signature with one bit of its last octet changed.
    private static func spoilt(_ text: [UInt8]) -> [UInt8] {
        let isBound = text.starts(with: Array("v2.".utf8))
        let inner = Array(text.dropFirst(isBound ? 3 : 0))
        guard var octets = isBound ? Base64URL.decode(inner.span) : Base64.decode(inner.span), !octets.isEmpty else {
            return text
        }
        octets[octets.count - 1] ^= 2
        return isBound ? Array("v2.".utf8) + Base64URL.encode(octets.span) : Base64.encode(octets.span)
    }

    /// The token with claims that its signature is not over: a first member more.
    private static func withOtherClaims(_ token: [UInt8]) -> [UInt8] {
        let parts = token.split(separator: Octet.dot)
        guard parts.count == 3, let claims = TokenPart.decode(token, 1) else { return token }
        let changed = Array("{\"score\":0,".utf8) + claims.dropFirst()
        return Array(parts[0]) + [Octet.dot] + Base64URL.encode(changed.span) + [Octet.dot] + Array(parts[2])
    }

    /// `X-HID-Token: ...` and `X-HID-Signature: ...`, as far as they are sent.
    var headerLines: [String] {
        var lines: [String] = []
        if let token { lines.append("X-HID-Token: " + String(decoding: token, as: UTF8.self)) }
        if let signature { lines.append("X-HID-Signature: " + String(decoding: signature, as: UTF8.self)) }
        return lines
    }

    func json(hid: [UInt8]) -> ControlJSON {
        let headers: ControlJSON = [
            "X-HID-Token": ControlJSON(optional: token), "X-HID-Signature": ControlJSON(optional: signature),
        ]
        return ["headers": headers, "hid": .text(hid)]
    }

    /// A command for a shell that sends the request.
    func curlCommand(_ options: SimulationOptions, _ url: GivenURL) -> String {
        var words = ["curl", "-i", "--path-as-is", "-g", "-X", Self.quoted(options.request.method)]
        if options.request.authority != url.authority {
            words += ["-H", Self.quoted(Array("Host: ".utf8) + options.request.authority)]
        }
        for line in headerLines.map({ Array($0.utf8) }) + options.fields { words += ["-H", Self.quoted(line)] }
        if !body.isEmpty { words += ["--data-raw", Self.quoted(body)] }
        words.append(Self.quoted(Array(url.origin.utf8) + url.target))
        return words.joined(separator: " ")
    }

    private static func quoted(_ octets: [UInt8]) -> String {
        let text = octets.flatMap { $0 == 0x27 ? Array("'\\''".utf8) : [$0] }
        return "'" + String(decoding: text, as: UTF8.self) + "'"
    }
}
