// SPDX-License-Identifier: Apache-2.0
internal import HIDCrypto

/// The three parts of an App Attest attestation object, taken apart and not judged.
///
/// Source: Apple, "Validating apps that connect to your server"; the outer form is that of W3C Web Authentication
/// section 6.5.4.
struct AppAttestObject: Sendable, Equatable {
    /// Why octets are no attestation object.
    enum Fault: Error, Sendable, Equatable {
        /// More octets than any attestation object has.
        case tooLong
        case cbor(CBORFault)
        /// Not a map of exactly `fmt`, `attStmt` and `authData` of the right types.
        case members
        /// `fmt` is not `apple-appattest`.
        case format
        /// `attStmt` is not a map of exactly `x5c` and `receipt` of the right types.
        case statement
    }

    /// The most octets that are looked at; real objects have five to six thousand.
    static let maximumLength = 16 * 1024

    /// DER certificates, leaf first.
    var certificates: [[UInt8]]
    /// Apple's receipt (PKCS #7); nothing in the object vouches for it.
    var receipt: [UInt8]
    var authenticatorData: [UInt8]

    init(_ octets: [UInt8]) throws(Fault) {
        guard octets.count <= Self.maximumLength else { throw .tooLong }
        let item = try Self.read(octets)
        let root = item.root
        guard item.entries(of: root)?.count == 3, let format = item.value(of: root, "fmt"),
            let statement = item.value(of: root, "attStmt"), let data = item.value(of: root, "authData"),
            let dataOctets = item.octetArray(data), item.kind(format) == .text
        else { throw .members }
        guard item.isText(format, "apple-appattest") else { throw .format }
        guard item.entries(of: statement)?.count == 2, let list = item.value(of: statement, "x5c"),
            let chain = item.elements(of: list), let receipt = item.value(of: statement, "receipt"),
            let receiptOctets = item.octetArray(receipt)
        else { throw .statement }
        let certificates = chain.compactMap { item.octetArray($0) }
        guard certificates.count == chain.count else { throw .statement }
        self.certificates = certificates
        self.receipt = receiptOctets
        authenticatorData = dataOctets
    }

    private static func read(_ octets: [UInt8]) throws(Fault) -> CBOR {
        do {
            return try CBOR(octets, limits: .init(depth: 4, items: 64, octets: maximumLength))
        } catch {
            throw .cbor(error)
        }
    }
}
