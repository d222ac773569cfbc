// SPDX-License-Identifier: Apache-2.0

internal import HIDCrypto
internal import HIDHTTP
internal import HIDService
internal import HIDStore

/// `POST /v1/m/hid/v`: evidence in, token out.
///
/// Limits, then the challenge is used up, then everything else. Attestations are judged by the workers, key proofs on
/// the client's loop.
struct VerifyFlow: Sendable {
    /// How long a device stays blocked for what its attestation said before it may attest again, in seconds: the owner
    /// may have locked the boot loader, the operator may have added a signer.
    static let blockedLife: Int64 = 86_400

    let call: IssuerCall
    private var context: IssuerContext { call.context }

    init(call: IssuerCall) {
        self.call = call
    }

    func run(_ content: [UInt8]) {
        let (challengeID, request) = IssuerRequestReader.verify(content)
        if case .success(let request) = request {
            let now = context.clock.monotonic()
            if let failure = call.plan.limits.verification(request.client, now: now) { return call.fail(failure) }
            if case .keyProof = request.evidence {
            } else if let failure = call.plan.limits.attestation(request.client, now: now) {
                return call.fail(failure)
            }
        }
        guard let challengeID else {
            if case .failure(let failure) = request { call.fail(failure) }
            return
        }
        guard context.workers.hasRoom else {
            return call.fail(IssuerFailure(.unavailable, detail: "too many requests wait for a worker"))
        }
        context.store.consume(challengeID, now: context.clock.wall()) { result in
            switch result {
            case .failure(let fault): call.fail(IssuerFailure(.unavailable, detail: fault.description))
            case .success(let consumed): proceed(consumed, request)
            }
        }
    }

    /// Every fault from here on has cost the client its challenge.
    private func proceed(_ consumed: ConsumedChallenge?, _ request: Result<VerifyRequest, IssuerFailure>) {
        do throws(IssuerFailure) {
            let request = try request.get()
            let app = try call.plan.app(for: request.client)
            guard let consumed, consumed.challenge.isFor(request.client),
                consumed.challenge.expiry > context.clock.wall()
            else { throw IssuerFailure(.challengeUnknown) }
            let isTaken = context.workers.submit { verifier in
                if case .keyProof(let signature) = request.evidence {
                    proveKey(request.client, consumed, signature, verifier)
                } else {
                    attest(request, app, consumed, verifier)
                }
            }
            guard isTaken else {
                throw IssuerFailure(.unavailable, detail: "too many requests wait for a worker")
            }
        } catch {
            call.fail(error)
        }
    }

    // MARK: - Returning devices

    private func proveKey(
        _ client: ClientIdentity, _ consumed: ConsumedChallenge, _ signature: [UInt8], _ verifier: P256Verifier
    ) {
        guard let device = consumed.device, device.platform == client.platform.rawValue, !isToAttestAgain(device) else {
            context.metrics.keyProofs["unknown"]?.add()
            return call.fail(IssuerFailure(.keyUnknown))
        }
        let isProven = KeyProof.verify(
            client: client, nonce: consumed.challenge.nonce, signature: signature, point: device.publicKey,
            verifier: verifier)
        guard isProven else {
            context.metrics.keyProofs["rejected"]?.add()
            context.log.warning(
                "key_proof.rejected",
                [
                    "request_id": .string(call.requestIDText), "app_id": .string(client.appID),
                    "platform": .string(client.platform.rawValue), "hid": .string(String(device.hid.prefix(8))),
                    "client": .string(call.client.description),
                ])
            context.store.record(event("key_proof_rejected", client, hid: device.hid))
            return call.fail(IssuerFailure(.keyProofRejected))
        }
        context.metrics.keyProofs["accepted"]?.add()
        grant(checkedAgain(device, now: context.clock.wall()), isDenied: consumed.denial != nil)
    }

    /// A block by policy is judged anew once a day; one by a revocation list stays.
    private func isToAttestAgain(_ device: DeviceRecord) -> Bool {
        guard let reason = device.blocked.flatMap(AttestationReason.init(rawValue:)) else { return false }
        guard reason != .revoked, reason != .suspended else { return false }
        return context.clock.wall() &- device.lastAttested >= Self.blockedLife
    }

    // MARK: - New keys

    private func attest(
        _ request: VerifyRequest, _ app: AppConfiguration, _ consumed: ConsumedChallenge, _ verifier: P256Verifier
    ) {
        let client = request.client
        let report: AttestationReport
        do throws(IssuerFailure) {
            report = try call.plan.judge.judge(
                request, app: app, nonce: consumed.challenge.nonce, revocations: context.revocations,
                now: context.clock.wall(), verifier: verifier)
        } catch {
            return call.fail(error)
        }
        guard report.outcome != .rejected, let record = record(of: report, client, app) else {
            note(report, client, hid: nil)
            context.store.record(event("attestation_rejected", client, reason: report.reason))
            return call.fail(IssuerFailure(.attestationRejected))
        }
        carryOver(consumed.denial, to: record.hid) {
            register(record, report, client, consumed)
        }
    }

    private func register(
        _ record: DeviceRecord, _ report: AttestationReport, _ client: ClientIdentity, _ consumed: ConsumedChallenge
    ) {
        let now = context.clock.wall()
        context.store.register(record, now: now) { result in
            switch result {
            case .failure(let fault): call.fail(IssuerFailure(.unavailable, detail: fault.description))
            case .success(.keyIDUsed):
                var report = report
                report.fail("key_id", .keyReused, "this App Attest key was registered before")
                note(report, client, hid: nil)
                context.store.record(event("attestation_rejected", client, reason: .keyReused))
                call.fail(IssuerFailure(.attestationRejected))
            case .success(.registered(_, let retired, let denial)):
                let record = checkedAgain(record, now: now)
                note(report, client, hid: record.hid)
                context.store.record(event("attested", client, hid: record.hid, reason: report.reason))
                if let retired { recovered(client, from: retired, to: record.hid) }
                watchBatch(record, now: now)
                let isDenied = denial != nil || consumed.denial != nil
                let isTaken = context.workers.submit { _ in grant(record, isDenied: isDenied) }
                if !isTaken { call.fail(IssuerFailure(.unavailable, detail: "too many requests wait for a worker")) }
            }
        }
    }

    /// Holds the list in force against a device, whatever the registry knows yet: a list may have come while the device
    /// was on its way there, or the check of all devices may have failed.
    private func checkedAgain(_ device: DeviceRecord, now: Int64) -> DeviceRecord {
        guard device.blocked == nil, let list = context.revocations?.list else { return device }
        let found = list.reasons(among: device.serials)
        guard let reason = found.values.sorted().first else { return device }
        context.store.block(serials: found, now: now) { [context] result in
            guard case .failure(let fault) = result else { return }
            context.log.error("revocations.devices_not_checked", ["fault": .string(fault.description)])
        }
        var device = device
        device.blocked = reason
        return device
    }

    private func recovered(_ client: ClientIdentity, from old: String, to new: String) {
        context.metrics.recoveries.add()
        context.store.record(event("recovered", client, hid: new))
        context.store.record(event("retired", client, hid: old))
    }

    /// A new key does not free a device from what the operator decided about its old one.
    ///
    /// Written before the key is registered, so that no fault of the store leaves the key without it. A denial of the
    /// key itself that lasts longer stays.
    private func carryOver(_ denial: Denial?, to hid: String, then body: @escaping @Sendable () -> Void) {
        guard var denial, denial.hid != hid else { return body() }
        let now = context.clock.wall()
        denial.hid = hid
        denial.created = now
        let moved = denial
        context.store.denials(history: false, now: now) { result in
            switch result {
            case .failure(let fault): call.fail(IssuerFailure(.unavailable, detail: fault.description))
            case .success(let denials):
                if denials.contains(where: { $0.hid == hid && !$0.ends(before: moved) }) { return body() }
                context.store.deny(moved) { result in
                    if case .failure(let fault) = result {
                        return call.fail(IssuerFailure(.unavailable, detail: fault.description))
                    }
                    body()
                }
            }
        }
    }

    /// One batch key serves very many phones, but only so many of them come new in an hour: a leaked one shows here.
    private func watchBatch(_ record: DeviceRecord, now: Int64) {
        guard let batch = record.batchID else { return }
        context.store.registrations(ofBatch: batch, since: now - 3600) { [context] result in
            guard case .success(let count) = result, [100, 1_000, 10_000, 100_000].contains(count) else { return }
            context.log.warning(
                "attestation.batch_velocity", ["batch_id": .string(batch), "registered_in_1h": .integer(count)])
        }
    }

    private func record(
        of report: AttestationReport, _ client: ClientIdentity, _ app: AppConfiguration
    ) -> DeviceRecord? {
        guard let key = report.key, let point = try? P256PublicKey(subjectPublicKeyInfo: key.subjectPublicKeyInfo).point
        else { return nil }
        var record = DeviceRecord(
            hid: DeviceIdentifier.hid(appID: client.appID, publicKey: point), appID: client.appID,
            deviceID: client.deviceID, platform: client.platform.rawValue, publicKey: point,
            level: key.level.rawValue, environment: environment(client.platform, app),
            tier: report.tier?.rawValue ?? "", registered: context.clock.wall())
        record.blocked = report.reason?.rawValue
        record.batchID = key.batchID
        record.serials = key.revocationSerials
        record.keyID = key.keyID
        record.assertionKey = key.assertionKey
        record.facts = facts(key)
        return record
    }

    private func environment(_ platform: Platform, _ app: AppConfiguration) -> String {
        switch platform {
        case .android: "production"
        case .ios: app.ios?.environment.rawValue ?? "production"
        case .test: "test"
        }
    }

    private func facts(_ key: AttestedKey) -> String {
        var line = JSONLineWriter(capacity: 256)
        line.begin()
        line.integer(DeviceRecord.attestedMember, context.clock.wall())
        line.beginArray("facts")
        for fact in key.facts { line.element(Array("\(fact.name)=\(fact.value)".utf8)) }
        line.endArray()
        line.end()
        return String(decoding: line.bytes.dropLast(), as: UTF8.self)
    }

    // MARK: - The token

    private func grant(_ device: DeviceRecord, isDenied: Bool) {
        let isBlocked = isDenied || device.blocked != nil
        let claims = TokenClaims(
            appID: device.appID, hid: device.hid, isBlocked: isBlocked, platform: device.platform,
            level: device.level, environment: device.environment, deviceKey: device.publicKey)
        let token: [UInt8]
        do throws(CryptoError) {
            token = try context.tokens.sign(claims, now: context.clock.wall())
        } catch {
            return call.fail(IssuerFailure(.unavailable, detail: "\(error)"))
        }
        context.metrics.tokens[isBlocked ? "blocked" : "human"]?.add()
        var line = JSONLineWriter(capacity: 1024)
        line.begin()
        line.constant("status", "ok")
        line.string("token", token)
        line.constant("token_type", "hid+jwt")
        line.integer("expires_in", context.tokens.life)
        line.string("hid", device.hid)
        line.end()
        call.succeed(line.bytes)
    }

    // MARK: - Record

    private func note(_ report: AttestationReport, _ client: ClientIdentity, hid: String?) {
        context.metrics.count(report, client.platform)
        let isAttack = report.reasons.contains(.chainExtended)
        context.log.write(
            isAttack ? .error : report.outcome == .human ? .info : .warning, "attestation",
            [
                "request_id": .string(call.requestIDText), "app_id": .string(client.appID),
                "device_id": .string(client.deviceID), "platform": .string(client.platform.rawValue),
                "client": .string(call.client.description), "outcome": .string(report.outcome.rawValue),
                "reason": .string(report.reason?.rawValue ?? ""),
                "reasons": .string(report.reasons.map(\.rawValue).joined(separator: " ")),
                "tier": .string(report.tier?.rawValue ?? ""), "hid": .string(String((hid ?? "").prefix(8))),
                "batch_id": .string(String((report.key?.batchID ?? "").prefix(16))),
                "failed": .string(
                    report.checks.filter { $0.result == .fail }.map { "\($0.name): \($0.detail)" }
                        .joined(separator: "; ")),
            ])
    }

    private func event(
        _ kind: String, _ client: ClientIdentity, hid: String? = nil, reason: AttestationReason? = nil
    ) -> RegistryEvent {
        RegistryEvent(
            time: context.clock.wall(), kind: kind, appID: client.appID, deviceID: client.deviceID,
            platform: client.platform.rawValue, hid: hid, reason: reason?.rawValue, requestID: call.requestIDText)
    }
}

extension DeviceRecord {
    /// The member of `facts` that tells when the key was attested last.
    static let attestedMember: StaticString = "attested"

    /// Wall clock, seconds since 1970; `registered` is of the first time and stays when a key is attested again.
    var lastAttested: Int64 {
        guard let json = try? StrictJSON(Array(facts.utf8)) else { return registered }
        return json.member(Self.attestedMember, of: json.root).flatMap { json.integer($0) } ?? registered
    }
}

extension Denial {
    /// Whether it is over earlier than another one.
    func ends(before other: Denial) -> Bool {
        guard let until else { return false }
        return other.until.map { until < $0 } ?? true
    }
}

extension Challenge {
    /// Whether it was given to this client.
    func isFor(_ client: ClientIdentity) -> Bool {
        appID == client.appID && deviceID == client.deviceID && platform == client.platform.rawValue
    }
}
