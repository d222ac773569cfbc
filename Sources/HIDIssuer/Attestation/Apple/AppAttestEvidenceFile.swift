// SPDX-License-Identifier: Apache-2.0
package import HIDCrypto

/// Why a file holds no App Attest evidence.
package enum EvidenceFileFault: Error, Sendable, Equatable, CustomStringConvertible {
    case json(StrictJSONFault)
    /// A member that must be there is missing, or has another form; the text names it.
    case member(String)

    package var description: String {
        switch self {
        case .json(let fault): "no strict JSON object: \(fault)"
        case .member(let name): "the member \(name) is missing or has another form"
        }
    }
}

/// Stored App Attest evidence and what its file says was expected of it.
///
/// A JSON object with `kind` and, for an `attestation`, `attestationObject`; for an `assertion`, `assertion` and
/// `publicKeySpkiDer`; for a `receipt`, `receiptBase64`: all standard base64. Further members tell what to expect and may
/// be missing or null: `keyId`, `teamId` with `bundleId`, `environment`, `clientDataUtf8OrB64`, `clientDataHash`,
/// `counter`. An attestation with `publicKeySpkiDer` binds that key: its client data is the challenge and then the key.
package struct AppAttestEvidenceFile: Sendable, Equatable {
    /// What the evidence is.
    package enum Kind: String, Sendable, CaseIterable {
        case attestation
        case assertion
        case receipt
    }

    /// How the client data hash comes from the client data.
    package enum HashRule: String, Sendable {
        case sha256
        /// The client data itself stands in the place of its hash, as in samples of Apple's guide.
        case raw
    }

    package var kind: Kind
    /// Attestation object, assertion or receipt.
    package var octets: [UInt8]
    package var keyID: [UInt8]?
    /// `TEAM.BUNDLE`.
    package var appID: String?
    package var environment: AppAttestEnvironment?
    package var clientData: [UInt8]?
    package var hashRule = HashRule.sha256
    /// SubjectPublicKeyInfo, DER.
    package var publicKey: [UInt8]?
    /// The counter that an assertion should have.
    package var counter: UInt32?

    /// Reads a file.
    ///
    /// - Throws: `json` for the form, `member` for what it holds.
    package static func parse(_ bytes: [UInt8]) throws(EvidenceFileFault) -> AppAttestEvidenceFile {
        do {
            let json = try StrictJSON(bytes)
            return try AppAttestEvidenceFile(EvidenceMembers(json: json))
        } catch let fault as StrictJSONFault {
            throw .json(fault)
        } catch let fault as EvidenceFileFault {
            throw fault
        } catch {
            throw .json(.syntax)
        }
    }

    private init(_ members: EvidenceMembers) throws(EvidenceFileFault) {
        guard members.json.kind(members.json.root) == .object else { throw .json(.syntax) }
        let name = try members.text("kind")
        guard let kind = Kind.allCases.first(where: { $0.rawValue == name }) else { throw .member("kind") }
        self.kind = kind
        let member: StaticString =
            switch kind {
            case .attestation: "attestationObject"
            case .assertion: "assertion"
            case .receipt: "receiptBase64"
            }
        guard let octets = try members.base64(member) else { throw .member("\(member)") }
        self.octets = octets
        publicKey = try members.base64("publicKeySpkiDer")
        if kind == .assertion, publicKey == nil { throw .member("publicKeySpkiDer") }
        keyID = try members.base64("keyId")
        if let team = try members.text("teamId"), let bundle = try members.text("bundleId") {
            appID = team + "." + bundle
        }
        environment = try members.environment()
        clientData = try members.clientData()
        hashRule = try members.hashRule()
        counter = try members.counter()
    }
}

/// The members of an evidence file; a missing one and null are the same.
private struct EvidenceMembers {
    let json: StrictJSON

    func text(_ name: StaticString) throws(EvidenceFileFault) -> String? {
        guard let node = node(name) else { return nil }
        guard let octets = json.textBytes(node) else { throw .member("\(name)") }
        return String(decoding: octets, as: UTF8.self)
    }

    func base64(_ name: StaticString) throws(EvidenceFileFault) -> [UInt8]? {
        guard let node = node(name) else { return nil }
        guard let octets = json.textBytes(node), let decoded = Base64.decode(octets.span) else {
            throw .member("\(name)")
        }
        return decoded
    }

    /// `environment`, or in a receipt's file the word that receipts use, in `properties`.
    func environment() throws(EvidenceFileFault) -> AppAttestEnvironment? {
        var found = node("environment")
        if found == nil, let properties = node("properties") { found = json.member("environment", of: properties) }
        guard let found else { return nil }
        let known = AppAttestEnvironment.allCases.first { environment in
            let (name, other) = (Array(environment.rawValue.utf8), Array(environment.receiptName.utf8))
            return json.isText(found, name.span) || json.isText(found, other.span)
        }
        guard let known else { throw .member("environment") }
        return known
    }

    /// Text as its UTF-8, or base64 behind `base64:`.
    func clientData() throws(EvidenceFileFault) -> [UInt8]? {
        guard let node = node("clientDataUtf8OrB64") else { return nil }
        guard let octets = json.textBytes(node) else { throw .member("clientDataUtf8OrB64") }
        let prefix = Array("base64:".utf8)
        guard octets.starts(with: prefix) else { return octets }
        let text = Array(octets.dropFirst(prefix.count))
        guard let decoded = Base64.decode(text.span) else { throw .member("clientDataUtf8OrB64") }
        return decoded
    }

    /// `sha256...`, or a text that says `raw`.
    func hashRule() throws(EvidenceFileFault) -> AppAttestEvidenceFile.HashRule {
        guard let node = node("clientDataHash") else { return .sha256 }
        guard let octets = json.textBytes(node) else { throw .member("clientDataHash") }
        if octets.starts(with: Array("sha256".utf8)) { return .sha256 }
        guard octets.firstRange(of: Array("raw".utf8)) != nil else { throw .member("clientDataHash") }
        return .raw
    }

    func counter() throws(EvidenceFileFault) -> UInt32? {
        guard let node = node("counter") else { return nil }
        guard let value = json.integer(node), let counter = UInt32(exactly: value) else { throw .member("counter") }
        return counter
    }

    private func node(_ name: StaticString) -> StrictJSON.Node? {
        guard let node = json.member(name, of: json.root), json.kind(node) != .null else { return nil }
        return node
    }
}
