// SPDX-License-Identifier: Apache-2.0

/// The octets that the device's key signs.
package enum RequestBase {
    /// The lines of profile v2 joined by LF (PROTOCOL.md section 4).
    ///
    /// - Parameters:
    ///   - method: The method as sent.
    ///   - authority: The Host field as sent; ASCII letters are folded to lower case here.
    ///   - target: The request-target in origin-form, as sent.
    ///   - token: The text of the token.
    ///   - body: The body octets.
    /// - Returns: The octets to sign.
    package static func v2(
        method: [UInt8], authority: [UInt8], target: [UInt8], token: [UInt8], body: [UInt8]
    ) -> [UInt8] {
        let lines: [[UInt8]] = [
            Array("hid-request-v2".utf8), method, authority.map(ASCIIText.lower), target,
            Array(Primitives.base64URL(Primitives.sha256(token)).utf8),
            Array(Primitives.base64URL(Primitives.sha256(body)).utf8),
        ]
        return Array(lines.joined(separator: [0x0A]))
    }

    /// What a registered key signs to show that it is there (PROTOCOL.md section 2).
    package static func keyProof(_ challenge: HumanIDChallenge) -> [UInt8] {
        let lines = ["hid-key-proof-v1", challenge.applicationID, challenge.deviceID, challenge.nonceText]
        return Array(lines.joined(separator: "\n").utf8)
    }

    /// What a test authority signs to vouch for a key (PROTOCOL.md section 2).
    package static func testAttestation(
        _ challenge: HumanIDChallenge, publicKey: [UInt8], claims: [String: HumanIDClaim]
    ) -> [UInt8] {
        let lines = [
            "hid-test-attestation-v1", challenge.applicationID, challenge.deviceID, challenge.nonceText,
            Primitives.base64URL(Primitives.sha256(publicKey)),
            Primitives.base64URL(Primitives.sha256(JSONText.compact(JSONText.sorted(claims)))),
        ]
        return Array(lines.joined(separator: "\n").utf8)
    }

    /// What an App Attest object vouches for: SHA-256 of the nonce octets and then the public key's DER.
    package static func clientDataHash(_ challenge: HumanIDChallenge, publicKey: [UInt8]) -> [UInt8] {
        Primitives.sha256(challenge.nonce + publicKey)
    }

    /// Why a part cannot stand in a request, and so not in what is signed; nil when all can.
    static func fault(method: String, authority: String, target: String) -> String? {
        let marks = Array("!#$%&'*+-.^_`|~".utf8)
        let isMethod = method.utf8.allSatisfy { ASCIIText.isAlphanumeric($0) || marks.contains($0) }
        guard !method.isEmpty, isMethod else { return "the method is no HTTP token" }
        guard !authority.isEmpty, authority.utf8.allSatisfy(ASCIIText.isVisible),
            !authority.utf8.contains(where: { Array("/?#@".utf8).contains($0) })
        else { return "the authority is no host with an optional port" }
        guard target.utf8.first == UInt8(ascii: "/"), target.utf8.allSatisfy(ASCIIText.isVisible),
            !target.utf8.contains(UInt8(ascii: "#"))
        else { return "the target is not a path with an optional query, encoded as it is sent" }
        return nil
    }
}
