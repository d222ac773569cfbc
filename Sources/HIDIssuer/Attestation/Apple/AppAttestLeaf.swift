// SPDX-License-Identifier: Apache-2.0
internal import HIDCrypto

/// What Apple writes into the certificate of an App Attest key besides the key.
///
/// Source: Apple, "Validating apps that connect to your server" (the nonce); the further extensions are not documented
/// and serve as facts only.
enum AppAttestLeaf {
    private static let nonceOID = OID(1, 2, 840, 113635, 100, 8, 2)
    private static let systemOID = OID(1, 2, 840, 113635, 100, 8, 7)

    /// The nonce: `SEQUENCE { [1] EXPLICIT OCTET STRING }` of 32 octets, alone in its extension.
    ///
    /// - Returns: nil when it is not there or has another form.
    static func nonce(of leaf: Certificate) -> [UInt8]? {
        leaf.extension(nonceOID).flatMap { try? readNonce($0.value) }
    }

    private static func readNonce(_ octets: [UInt8]) throws(DERFault) -> [UInt8] {
        var fields = try DERReader.only(.sequence, in: octets)
        let tagged = try fields.next(.context(1))
        try fields.finish()
        let value = try fields.single(in: tagged)
        let content = try fields.octetString(value)
        guard content.count == 32 else { throw .value }
        return Array(octets[content])
    }

    /// Version and build of the system that asked, as far as the certificate tells.
    static func systemFacts(of leaf: Certificate) -> [AttestedKey.Fact] {
        guard let found = leaf.extension(systemOID),
            var fields = try? DERReader.only(.sequence, in: found.value)
        else { return [] }
        var facts: [AttestedKey.Fact] = []
        while !fields.isAtEnd, let field = try? fields.next() {
            guard let name = systemFields[field.tag.number], field.tag == .context(field.tag.number),
                let value = try? fields.single(in: field), let content = try? fields.octetString(value),
                content.count <= 64, found.value[content].allSatisfy({ (0x20...0x7E).contains($0) })
            else { continue }
            facts.append(AttestedKey.Fact(name, String(decoding: found.value[content], as: UTF8.self)))
        }
        return facts
    }

    private static let systemFields: [UInt32: String] = [1400: "os_version", 1403: "os_build"]
}
