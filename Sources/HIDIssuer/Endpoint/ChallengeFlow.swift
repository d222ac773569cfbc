// SPDX-License-Identifier: Apache-2.0

internal import HIDCrypto
internal import HIDService
internal import HIDStore

/// `POST /v1/m/hid/c`: a nonce for a device, and whether it has a key.
struct ChallengeFlow: Sendable {
    /// Seconds in which a challenge may be used.
    static let life: Int64 = 60

    let call: IssuerCall

    func run(_ content: [UInt8]) {
        do throws(IssuerFailure) {
            let client = try IssuerRequestReader.challenge(content)
            _ = try call.plan.app(for: client)
            if let failure = call.plan.limits.challenge(client, now: call.context.clock.monotonic()) { throw failure }
            issue(try challenge(for: client))
        } catch {
            call.fail(error)
        }
    }

    private func challenge(for client: ClientIdentity) throws(IssuerFailure) -> Challenge {
        let random: [UInt8]
        do throws(CryptoError) {
            random = try SecureRandom.bytes(48)
        } catch {
            throw IssuerFailure(.unavailable, detail: "\(error)")
        }
        let id = Array(random[32...])
        return Challenge(
            id: String(decoding: Base64URL.encode(id.span), as: UTF8.self), nonce: Array(random[..<32]),
            appID: client.appID, deviceID: client.deviceID, platform: client.platform.rawValue,
            expiry: call.context.clock.wall() + Self.life)
    }

    private func issue(_ challenge: Challenge) {
        let now = call.context.clock.wall()
        call.context.store.issue(challenge, now: now) { [call] result in
            switch result {
            case .failure(let fault): call.fail(IssuerFailure(.unavailable, detail: fault.description))
            case .success(let isExisting):
                call.context.metrics.challenges.add()
                call.succeed(Self.answer(challenge, isExisting: isExisting, now: now))
            }
        }
    }

    private static func answer(_ challenge: Challenge, isExisting: Bool, now: Int64) -> [UInt8] {
        var line = JSONLineWriter(capacity: 256)
        line.begin()
        line.string("challenge_id", challenge.id)
        line.string("nonce", Base64URL.encode(challenge.nonce.span))
        line.constant("key_status", isExisting ? "existing" : "new")
        line.integer("expires_in", life)
        line.integer("server_time", now)
        line.end()
        return line.bytes
    }
}

extension IssuerPlan {
    /// The app a client names, if the client's platform is enabled for it.
    func app(for client: ClientIdentity) throws(IssuerFailure) -> AppConfiguration {
        guard let app = configuration.apps[client.appID] else { throw IssuerFailure(.appUnknown) }
        let isEnabled =
            switch client.platform {
            case .android: app.android != nil
            case .ios: app.ios != nil
            case .test: app.test != nil
            }
        guard isEnabled else { throw IssuerFailure(.platformNotEnabled) }
        return app
    }
}
