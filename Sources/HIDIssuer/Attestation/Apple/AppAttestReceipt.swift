// SPDX-License-Identifier: Apache-2.0
package import HIDCrypto

/// Why a receipt proves nothing.
package enum ReceiptFault: Error, Sendable, Equatable {
    /// Not the one form of signed data, or a field that cannot be read.
    case malformed(String)
    /// The certificates do not lead to Apple's root, or were not valid when the receipt was made.
    case chain(AttestationReason, String)
    /// The chain is Apple's, but the signer is not the one of receipts.
    case signer
    case badSignature
}

/// What Apple states about an App Attest key, for the risk metric; a verified receipt.
///
/// Source: Apple, "Assessing fraud risk".
package struct AppAttestReceipt: Sendable, Equatable {
    /// Which of the two kinds.
    package enum Kind: String, Sendable, CaseIterable {
        /// Came with an attestation.
        case attest = "ATTEST"
        /// Came from Apple's server in exchange for an earlier one.
        case receipt = "RECEIPT"
    }

    /// The most octets that are looked at; real receipts have about 3,700.
    package static let maximumLength = 16 * 1024

    package var kind: Kind
    /// `TEAM.BUNDLE`.
    package var appID: String
    package var environment: AppAttestEnvironment
    /// The certificate of the App Attest key.
    package var attestedCertificate: Certificate
    /// Seconds since 1970.
    package var created: Int64
    /// Seconds since 1970; until then it can be exchanged for a newer one.
    package var expiry: Int64
    /// Seconds since 1970; not to be exchanged before.
    package var notBefore: Int64?
    /// About how many keys this device attested in the last 30 days; absent in the first receipt.
    package var riskMetric: UInt32?

    /// Verifies a receipt as of the time at which it was made: its signer lives for a year only.
    ///
    /// - Parameters:
    ///   - octets: The CMS of Apple, DER.
    ///   - extraRoots: Anchors besides Apple Root CA - G3.
    /// - Throws: The first fault found.
    package init(verifying octets: [UInt8], extraRoots: [Certificate] = []) throws(ReceiptFault) {
        guard octets.count <= Self.maximumLength else { throw .malformed("\(octets.count) octets") }
        let message: SignedMessage
        do {
            message = try SignedMessage(octets)
        } catch {
            throw .malformed("signed data: \(error)")
        }
        let fields = try Self.fields(message.content)
        try self.init(fields)
        let anchors = [AppleAnchor.rootG3] + extraRoots.map { AppleAnchor($0) }
        try Self.check(message, anchors: anchors, at: created)
    }

    private static func check(
        _ message: SignedMessage, anchors: [AppleAnchor], at time: Int64
    ) throws(ReceiptFault) {
        let signer: Certificate
        do {
            let chain = try AppleChain(message.chain, anchors: anchors)
            try chain.checkOrder()
            try chain.checkConstraints()
            _ = try chain.checkSignatures()
            try chain.checkDates(at: time)
            signer = chain.leaf
        } catch {
            throw .chain(error.reason, error.detail)
        }
        // The same root stands above certificates that developers get for keys of their own.
        guard signer.extension(signerOID) != nil,
            signer.subject.has(.commonName, "Application Attestation Fraud Receipt Signing")
        else { throw .signer }
        guard message.isSigned(by: signer) else { throw .badSignature }
    }

    /// What marks the certificate of the receipt signer.
    private static let signerOID = OID(1, 2, 840, 113635, 100, 12, 15)

    // MARK: - Fields

    /// `SET OF SEQUENCE { type INTEGER, version INTEGER, value OCTET STRING }`, each type once.
    private static func fields(_ content: [UInt8]) throws(ReceiptFault) -> [Int64: [UInt8]] {
        do {
            var found: [Int64: [UInt8]] = [:]
            var list = try DERReader.only(.set, in: content)
            while !list.isAtEnd {
                guard found.count < 64 else { throw DERFault.range }
                var field = try list.open(.sequence)
                let type = try field.integer(field.next(.integer))
                _ = try field.integer(field.next(.integer))
                let value = try field.next(.octetString)
                try field.finish()
                guard found.updateValue(field.octets(value), forKey: type) == nil else { throw DERFault.value }
            }
            return found
        } catch {
            throw .malformed("fields: \(error)")
        }
    }

    private init(_ fields: [Int64: [UInt8]]) throws(ReceiptFault) {
        guard let appID = fields[2], appID.count <= 255, appID.allSatisfy({ (0x21...0x7E).contains($0) }) else {
            throw .malformed("field 2, the app")
        }
        guard let der = fields[3], let certificate = try? Certificate(der) else {
            throw .malformed("field 3, the certificate")
        }
        let kinds = Kind.allCases.first { Array($0.rawValue.utf8) == fields[6] }
        guard let kind = kinds else { throw .malformed("field 6, the kind") }
        let environments = AppAttestEnvironment.allCases.first { Array($0.receiptName.utf8) == fields[7] }
        guard let environment = environments else { throw .malformed("field 7, the environment") }
        guard let created = fields[12].flatMap({ InternetTime.seconds($0) }) else {
            throw .malformed("field 12, the time of creation")
        }
        guard let expiry = fields[21].flatMap({ InternetTime.seconds($0) }) else {
            throw .malformed("field 21, the expiry")
        }
        self.appID = String(decoding: appID, as: UTF8.self)
        attestedCertificate = certificate
        self.kind = kind
        self.environment = environment
        (self.created, self.expiry) = (created, expiry)
        if let text = fields[17] {
            guard let metric = StrictInteger.parse(text.span, maximum: UInt64(UInt32.max)) else {
                throw .malformed("field 17, the risk metric")
            }
            riskMetric = UInt32(metric)
        }
        if let text = fields[19] {
            guard let time = InternetTime.seconds(text) else { throw .malformed("field 19, not before") }
            notBefore = time
        }
    }

    // MARK: - Use

    /// SHA-256 of the attested key's point, that is its App Attest key identifier; nil when it is not on P-256.
    package var keyID: [UInt8]? {
        let read = try? P256PublicKey(subjectPublicKeyInfo: attestedCertificate.subjectPublicKeyInfo)
        return read.map { key in
            let point = key.point
            return SHA256.digest(point.span)
        }
    }
}
