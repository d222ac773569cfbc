// SPDX-License-Identifier: Apache-2.0
import HIDCrypto

/// A compact JWS whose form and header are right and whose signature is still to be verified.
struct CompactJWS {
    /// What the issuer's key is asked about.
    struct Proof {
        let digest: SHA256.Digest
        let signature: [UInt8]

        func verifies(with key: KeySet.Key) -> Bool {
            key.publicKey.verify(digest: digest.span, signature: signature.span)
        }
    }

    let form: CompactForm
    private let header: TokenHeader

    init(_ token: Span<UInt8>, acceptsAnyType: Bool = false) throws(Reason) {
        form = try CompactForm(token)
        header = try TokenHeader(
            CompactForm.decode(token.extracting(form.header)), acceptsAnyType: acceptsAnyType)
    }

    /// The key that the header names, if the set has it.
    func key(in keys: KeySet?) -> KeySet.Key? {
        guard let keys else { return nil }
        return header.withKeyID { keys.key(kid: $0) }
    }

    /// Digest and signature; the JWS signature is r then s and nothing else (RFC 7518 section 3.4).
    func proof(in token: Span<UInt8>) throws(Reason) -> Proof {
        let signature = try CompactForm.decode(token.extracting(form.signature))
        switch ECDSASignature.fault(ofRaw: signature.span) {
        case nil: return Proof(digest: SHA256.hash(token.extracting(form.signedText)), signature: signature)
        case .range: throw .tokenSignatureRange
        case .length, .der: throw .tokenSignatureLength
        }
    }
}
