// SPDX-License-Identifier: Apache-2.0

extension P256PublicKey {
    /// Reads a PEM file with exactly one `PUBLIC KEY`.
    ///
    /// - Throws: `malformedKey` for anything else, private keys among them.
    package convenience init(pem: [UInt8]) throws(CryptoError) {
        let blocks: [[UInt8]]
        do throws(PEMFault) {
            blocks = try PEM.blocks(pem, label: "PUBLIC KEY")
        } catch {
            throw .malformedKey(openSSL: "\(error)")
        }
        guard blocks.count == 1, let der = blocks.first else {
            throw .malformedKey(openSSL: "\(blocks.count) public keys, not one")
        }
        try self.init(subjectPublicKeyInfo: der)
    }
}
