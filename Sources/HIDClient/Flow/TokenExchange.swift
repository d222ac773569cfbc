// SPDX-License-Identifier: Apache-2.0

/// What a token costs: a challenge, and an attestation or key proof that answers it.
///
/// At most two challenges are used up. The second one comes only when the first told that the device has to be
/// attested again, or went stale, and it never leads to a third.
struct TokenExchange: Sendable {
    let config: HumanIDConfig
    let keys: any HumanIDKeyHolder
    let transport: any HumanIDTransport
    let clock: any HumanIDClock
    let serverTime: ServerTime

    /// What the answer to a challenge is to be.
    private enum Plan {
        /// A key proof where server and device have a key, else an attestation.
        case asChallenged
        case attestation
        case attestationOfNewKey
    }

    /// How a round ended without a token.
    private struct Fault: Error {
        let failure: HumanIDFailure
        /// What another round may do about it; nil: nothing.
        var remedy: Plan?
    }

    /// Gets a token.
    func run() async throws(HumanIDFailure) -> HumanIDToken {
        do {
            return try await round(.asChallenged)
        } catch {
            guard let remedy = error.remedy else { throw error.failure }
            do {
                return try await round(remedy)
            } catch {
                throw error.failure
            }
        }
    }

    private func round(_ plan: Plan) async throws(Fault) -> HumanIDToken {
        let deviceID = try await deviceID()
        // Before the challenge: a key may take longer to make than a challenge lives.
        let key = try await key(for: plan)
        let answer = try await challenge(deviceID)
        let challenge = HumanIDChallenge(
            applicationID: config.applicationID, deviceID: deviceID, nonceText: answer.nonceText, nonce: answer.nonce)
        let content: [UInt8]
        if answer.isKnown, !key.isNew, plan == .asChallenged {
            content = try await keyProof(challenge, id: answer.id, key: key.publicKey)
        } else {
            content = try await attestation(challenge, id: answer.id, key: key.publicKey)
        }
        // A platform may have replaced the key while it attested it.
        let publicKey = try await keyed { () async throws(HumanIDKeyError) in try await keys.loadKey() }
        return try await token(for: content, key: publicKey ?? key.publicKey, plan)
    }

    // MARK: - Steps

    private func challenge(_ deviceID: String) async throws(Fault) -> ChallengeAnswer {
        let content = ServerRequests.challenge(
            applicationID: config.applicationID, deviceID: deviceID, platform: keys.platform)
        let (answer, _) = try await post("/v1/m/hid/c", content)
        guard answer.status == 200 else { throw Fault(failure: RefusalAnswer(answer).failure) }
        do {
            let challenge = try ChallengeAnswer(answer.body)
            serverTime.note(challenge.serverTime, at: clock.unixSeconds())
            return challenge
        } catch {
            throw Fault(failure: error)
        }
    }

    private func token(for content: [UInt8], key: [UInt8], _ plan: Plan) async throws(Fault) -> HumanIDToken {
        let (answer, sentAt) = try await post("/v1/m/hid/v", content)
        guard answer.status == 200 else { throw Self.fault(of: RefusalAnswer(answer), plan) }
        let read: TokenAnswer
        do {
            read = try TokenAnswer(answer.body)
        } catch {
            throw Fault(failure: error)
        }
        let now = clock.now()
        guard now >= sentAt else { throw Fault(failure: .clockRanBackwards) }
        let token = HumanIDToken(read, issuedTo: key, sentAt: sentAt, clock: clock)
        guard token.lifeLeft(at: now) > .zero else { throw Fault(failure: .expiredOnArrival) }
        return token
    }

    private func keyProof(
        _ challenge: HumanIDChallenge, id: String, key: [UInt8]
    ) async throws(Fault) -> [UInt8] {
        do throws(HumanIDKeyError) {
            let octets = try await keys.sign(RequestBase.keyProof(challenge), with: key)
            let signature = try DeviceSignature(octets)
            return ServerRequests.keyProof(challenge, id: id, platform: keys.platform, signature: signature)
        } catch {
            // Gone for good, as after a restore from a backup: only a new key helps.
            let remedy = error == .invalidated ? Plan.attestationOfNewKey : nil
            throw Fault(failure: .keyUnavailable(error), remedy: remedy)
        }
    }

    private func attestation(
        _ challenge: HumanIDChallenge, id: String, key: [UInt8]
    ) async throws(Fault) -> [UInt8] {
        let content: [UInt8]
        do throws(HumanIDKeyError) {
            let evidence = try await keys.attest(challenge, for: key)
            guard evidence.platform == keys.platform else { throw .attestationFailed("evidence of another platform") }
            let publicKey = try await keys.loadKey() ?? key
            content = try ServerRequests.attestation(challenge, id: id, publicKey: publicKey, evidence: evidence)
            guard content.count <= ServerRequests.sizeLimit else { throw .attestationFailed("evidence over 64 KiB") }
        } catch {
            let remedy = error == .invalidated ? Plan.attestationOfNewKey : nil
            throw Fault(failure: .keyUnavailable(error), remedy: remedy)
        }
        return content
    }

    /// What a refusal of the answer to a challenge leads to.
    private static func fault(of refusal: RefusalAnswer, _ plan: Plan) -> Fault {
        switch refusal.failure {
        case .rejected("key_unknown", _), .rejected("key_proof_rejected", _):
            Fault(failure: refusal.failure, remedy: .attestation)
        case .rejected("challenge_unknown", _):
            Fault(failure: refusal.failure, remedy: plan == .asChallenged ? .asChallenged : .attestation)
        default: Fault(failure: refusal.failure)
        }
    }

    // MARK: - Parts of steps

    private func deviceID() async throws(Fault) -> String {
        if let deviceID = config.deviceID { return deviceID }
        let made = try await keyed { () async throws(HumanIDKeyError) in try await keys.deviceID() }
        guard Identifier.isValid(made, atMost: 128) else {
            throw Fault(failure: .keyUnavailable(.corrupt("the device id is not 1 to 128 of A-Z a-z 0-9 . _ -")))
        }
        return made
    }

    private func key(for plan: Plan) async throws(Fault) -> (publicKey: [UInt8], isNew: Bool) {
        try await keyed { () async throws(HumanIDKeyError) in
            if plan != .attestationOfNewKey, let publicKey = try await usableKey() { return (publicKey, false) }
            return (try await keys.makeKey(), true)
        }
    }

    /// The current key; nil when there is none, or one that is gone for good.
    private func usableKey() async throws(HumanIDKeyError) -> [UInt8]? {
        do {
            return try await keys.loadKey()
        } catch .invalidated {
            return nil
        }
    }

    /// Does something with the key holder, unless this exchange has been given up.
    private func keyed<Value: Sendable>(
        _ work: () async throws(HumanIDKeyError) -> Value
    ) async throws(Fault) -> Value {
        guard !Task.isCancelled else { throw Fault(failure: .cancelled) }
        do {
            return try await work()
        } catch {
            throw Fault(failure: .keyUnavailable(error))
        }
    }

    private func post(
        _ path: StaticString, _ content: [UInt8]
    ) async throws(Fault) -> (answer: HumanIDTransportAnswer, sentAt: Duration) {
        guard !Task.isCancelled else { throw Fault(failure: .cancelled) }
        let request = HumanIDTransportRequest(
            url: config.serverURL + path.description, body: content, timeout: config.requestTimeout.inBounds,
            answerLimit: ServerRequests.sizeLimit)
        let sentAt = clock.now()
        do throws(HumanIDTransportError) {
            let answer = try await transport.send(request)
            guard answer.body.count <= request.answerLimit else { throw .answerTooLarge }
            return (answer, sentAt)
        } catch {
            throw Fault(failure: Self.failure(of: error))
        }
    }

    private static func failure(of error: HumanIDTransportError) -> HumanIDFailure {
        switch error {
        case .network(let words): .network(words)
        case .timeout: .timeout
        case .answerTooLarge: .badAnswer("over \(ServerRequests.sizeLimit) octets")
        }
    }
}
