// SPDX-License-Identifier: Apache-2.0

import HIDCrypto
import HIDHTTP
import HIDGateway
import HIDService
import HIDVerifier

/// Where `token inspect` takes keys and expectations from.
enum TokenKeySource {
    /// nil and none: whatever the token says is expected.
    case keySet(path: String, issuer: String?, audience: [String])
    case configuration(path: String)

    /// nil without `--jwks` and `--config`.
    init?(_ arguments: ParsedArguments) throws(VerbError) {
        let (jwks, config) = (arguments.value("jwks"), arguments.value("config"))
        let (issuer, audience) = (arguments.value("issuer"), arguments.allValues("audience"))
        guard jwks == nil || config == nil else { throw .usage("give --jwks or --config, not both") }
        guard jwks != nil || (issuer == nil && audience.isEmpty) else {
            throw .usage("--issuer and --audience need --jwks")
        }
        if let jwks {
            self = .keySet(path: jwks, issuer: issuer, audience: audience)
        } else if let config {
            self = .configuration(path: config)
        } else {
            return nil
        }
    }

    func policies(of token: [UInt8], _ outcome: inout ControlOutcome) throws(VerbError) -> [IssuerPolicy] {
        switch self {
        case .keySet(let path, let issuer, let audience):
            let keys = try Self.keys(path)
            let own = TokenExpectation(token)
            return [
                IssuerPolicy(
                    issuer: issuer ?? own.issuer, audience: audience.isEmpty ? own.audience : audience, keys: keys)
            ]
        case .configuration(let path):
            let (configuration, diagnostics) = GatewayConfiguration.load(path: path)
            outcome.stderr += diagnostics.rendered
            guard let configuration else { throw .failure("the configuration \(path.quoted) is faulty") }
            var keys: [KeySet?] = []
            for issuer in configuration.issuers { keys.append(Self.keys(of: issuer, &outcome)) }
            return GatewayPlan(configuration: configuration, keys: keys).tokens.issuers
        }
    }

    /// The keys of an issuer, nil with a warning when they are not to be had: as the gateway does.
    private static func keys(of issuer: IssuerConfiguration, _ outcome: inout ControlOutcome) -> KeySet? {
        do throws(VerbError) {
            switch issuer.keys {
            case .file(let path): return try keys(path)
            case .url(let url, _, _): return try fetchedKeys(url)
            }
        } catch {
            if case .failure(let message) = error { outcome.warn(message) }
            return nil
        }
    }

    private static func keys(_ path: String) throws(VerbError) -> KeySet {
        let bytes = try ControlFile.contents(path, limit: KeySet.maximumSize)
        do {
            return try KeySet(jwks: bytes)
        } catch {
            throw .failure("\(path.quoted): \(error)")
        }
    }

    private static func fetchedKeys(_ url: String) throws(VerbError) -> KeySet {
        var request = ControlRequest(method: Array("GET".utf8), url: url)
        request.answerLimit = KeySet.maximumSize
        request.timeout = .seconds(10)
        switch ControlExchange.send(request) {
        case .failure(let fault): throw .failure("cannot get \(url.quoted): \(fault)")
        case .success(let answer):
            guard answer.status == 200 else { throw .failure("cannot get \(url.quoted): status \(answer.status)") }
            do {
                return try KeySet(jwks: answer.body)
            } catch {
                throw .failure("\(url.quoted): \(error)")
            }
        }
    }
}

/// What a token says of its issuer and audience, for when nobody says what to expect.
private struct TokenExpectation {
    var issuer = ""
    var audience: [String] = []

    init(_ token: [UInt8]) {
        guard let bytes = TokenPart.decode(token, 1), let json = try? StrictJSON(bytes) else {
            return
        }
        if let node = json.member("iss", of: json.root), let text = json.textBytes(node) {
            issuer = String(decoding: text, as: UTF8.self)
        }
        guard let node = json.member("aud", of: json.root) else { return }
        audience = ([node] + json.elements(of: node)).compactMap { json.textBytes($0) }
            .map { String(decoding: $0, as: UTF8.self) }
    }
}
