// SPDX-License-Identifier: Apache-2.0

/// The JSON texts that the server is sent (PROTOCOL.md section 2).
enum ServerRequests {
    /// The greatest content that the server takes.
    static let sizeLimit = 64 << 10

    static func challenge(applicationID: String, deviceID: String, platform: HumanIDPlatform) -> [UInt8] {
        JSONText.compact(
            .object([
                ("app_id", .text(applicationID)), ("device_id", .text(deviceID)),
                ("platform", .text(platform.rawValue)),
            ]))
    }

    static func keyProof(
        _ challenge: HumanIDChallenge, id: String, platform: HumanIDPlatform, signature: DeviceSignature
    ) -> [UInt8] {
        let members = common("key_proof", challenge, id: id, platform: platform)
        return JSONText.compact(.object(members + [("signature", .text(signature.v1))]))
    }

    static func attestation(
        _ challenge: HumanIDChallenge, id: String, publicKey: [UInt8], evidence: HumanIDEvidence
    ) throws(HumanIDKeyError) -> [UInt8] {
        let members = common("attestation", challenge, id: id, platform: evidence.platform)
        return JSONText.compact(.object(members + (try self.members(of: evidence, publicKey: publicKey))))
    }

    private static func members(
        of evidence: HumanIDEvidence, publicKey: [UInt8]
    ) throws(HumanIDKeyError) -> [(name: String, value: JSONText.Value)] {
        switch evidence {
        case .android(let chain):
            return [("certificate_chain", .array(chain.map { .text(Primitives.base64($0)) }))]
        case .ios(let keyID, let object):
            return [
                ("key_id", .text(keyID)), ("attestation_object", .text(Primitives.base64(object))),
                ("public_key", .text(Primitives.base64(publicKey))),
            ]
        case .test(let claims, let signature):
            return [
                ("public_key", .text(Primitives.base64(publicKey))), ("claims", JSONText.sorted(claims)),
                ("signature", .text(try DeviceSignature(signature).v1)),
            ]
        }
    }

    private static func common(
        _ type: String, _ challenge: HumanIDChallenge, id: String, platform: HumanIDPlatform
    ) -> [(name: String, value: JSONText.Value)] {
        [
            ("type", .text(type)), ("challenge_id", .text(id)), ("app_id", .text(challenge.applicationID)),
            ("device_id", .text(challenge.deviceID)), ("platform", .text(platform.rawValue)),
        ]
    }
}

extension HumanIDEvidence {
    var platform: HumanIDPlatform {
        switch self {
        case .android: .android
        case .ios: .ios
        case .test: .test
        }
    }
}
