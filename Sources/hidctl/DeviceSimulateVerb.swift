// SPDX-License-Identifier: Apache-2.0

import HIDCrypto
import HIDHTTP
import HIDGateway
import HIDService
import HIDVerifier

/// `hidctl device simulate`: a phone with a software key.
enum DeviceSimulateVerb {
    static func run(
        _ arguments: ParsedArguments, _ environment: ControlEnvironment, _ outcome: inout ControlOutcome
    ) throws(VerbError) {
        let options = try SimulationOptions(arguments)
        let (issuer, device) = try parties(arguments, options, isQuiet: arguments.has("json"), &outcome)
        let hid = device.hid(for: options.audience)
        guard let url = options.url else {
            if arguments.has("json") {
                outcome.print((["requests": .array([]), "hid": .text(hid)] as ControlJSON).line)
            }
            return
        }
        let source = options.sendsToken ? TokenSource.localIssuer(issuer) : TokenSource.none
        let request: SimulatedRequest
        do {
            request = try SimulatedRequest(options, device: device, source: source, now: environment.now())
        } catch {
            throw .failure("\(error)")
        }
        switch options.delivery {
        case .send:
            let run = SimulationRun(options, url, request, certificateAuthorities: arguments.value("ca"))
            run.perform(hid: hid, isJSON: arguments.has("json"), &outcome)
        case .printHeaders, .printCurl:
            guard !arguments.has("json") else { return outcome.print(request.json(hid: hid).line) }
            if options.delivery == .printCurl {
                outcome.print(request.curlCommand(options, url))
            } else {
                for line in request.headerLines { outcome.print(line) }
            }
        }
    }

    /// Reads or makes the keys and writes the key set.
    private static func parties(
        _ arguments: ParsedArguments, _ options: SimulationOptions, isQuiet: Bool, _ outcome: inout ControlOutcome
    ) throws(VerbError) -> (LocalIssuer, SoftwareDevice) {
        guard let issuerPath = arguments.value("issuer-key") else { throw .usage("missing option '--issuer-key'") }
        let speaks = !isQuiet && options.delivery == .send
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

    init(
        _ options: SimulationOptions, device: SoftwareDevice, source: TokenSource, now: Int64
    ) throws(CryptoError) {
        var token = try source.token(for: device, at: now)
        if options.tampered == .token { token = token.map(Self.withOtherClaims) }
        self.token = token
        if let token, options.sendsSignature {
            signature = try device.signature(
                options.profile, of: options.request, token: token, body: options.body,
                isSpoilt: options.tampered == .signature)
        } else {
            signature = nil
        }
        body = options.tampered == .body ? options.body + [Octet.space] : options.body
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
