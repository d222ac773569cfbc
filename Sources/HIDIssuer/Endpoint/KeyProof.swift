// SPDX-License-Identifier: Apache-2.0

internal import HIDCrypto
internal import HIDVerifier

/// The proof of a returning device: a signature of its key over a fresh nonce.
enum KeyProof {
    /// The octets that the device signs (PROTOCOL.md section 2); the first line keeps them apart from request bodies.
    static func statement(client: ClientIdentity, nonce: [UInt8]) -> [UInt8] {
        var statement: [UInt8] = []
        statement.reserveCapacity(256)
        statement += "hid-key-proof-v1\n".utf8
        statement += client.appID.utf8
        statement.append(0x0A)
        statement += client.deviceID.utf8
        statement.append(0x0A)
        Base64URL.encode(nonce.span, appendingTo: &statement)
        return statement
    }

    /// 64 octets r then s of a signature by the rules of X-HID-Signature v1; nil for anything else.
    static func octets(_ text: [UInt8]) -> [UInt8]? {
        switch SignatureHeader.parse(text.span, accepting: [.v1]) {
        case .success(let header): header.octets
        case .failure: nil
        }
    }

    /// Whether the device's key made it.
    static func verify(
        client: ClientIdentity, nonce: [UInt8], signature: [UInt8], point: [UInt8], verifier: P256Verifier
    ) -> Bool {
        guard let octets = octets(signature) else { return false }
        let statement = statement(client: client, nonce: nonce)
        let digest = SHA256.hash(statement.span)
        return verifier.verify(digest: digest.span, signature: octets.span, point: point.span) == .valid
    }
}
