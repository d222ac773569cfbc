// SPDX-License-Identifier: Apache-2.0

import HIDCrypto
import HIDHTTP

/// One device on its way to a token: challenge, then attestation or key proof.
///
/// Confined to the generator's loop.
final class DeviceFlow: UpstreamHandler {
    private enum Stage { case challenge, verify }

    /// When it was to begin; monotonic nanoseconds, like all moments here.
    let due: UInt64
    let begun: UInt64
    private(set) var challenged: UInt64 = 0
    private(set) var proving: UInt64 = 0
    private(set) var ended: UInt64 = 0

    private let device: LoadDevice
    private let generator: LoadGenerator
    private let isNew: Bool
    private var stage = Stage.challenge
    private var status = 0
    private var content: [UInt8] = []

    /// More than any answer of the server has.
    private static let contentLimit = 64 << 10

    init(_ device: LoadDevice, isNew: Bool, due: UInt64, generator: LoadGenerator) {
        self.device = device
        self.isNew = isNew
        self.due = due
        self.generator = generator
        begun = MonotonicClock.now()
    }

    func start() {
        send(device.challengeRequest)
    }

    private func send(_ request: [UInt8]) {
        do throws(UpstreamFault) {
            try generator.post(stage == .challenge ? "c" : "v", request, for: self)
        } catch {
            end(error.rawValue)
        }
    }

    private func end(_ failure: String?) {
        ended = MonotonicClock.now()
        generator.ended(self, failure)
    }

    private func prove() {
        challenged = MonotonicClock.now()
        guard let challenge = LoadChallenge(content) else { return end("challenge_malformed") }
        content = []
        stage = .verify
        do throws(CryptoError) {
            let proof =
                isNew
                ? try device.attestation(challenge, by: generator.authority) : try device.keyProof(challenge)
            proving = MonotonicClock.now()
            send(proof)
        } catch {
            end("sign")
        }
    }

    // MARK: - UpstreamHandler

    func upstreamHead(_ connection: UpstreamConnection) {
        status = connection.response.status
    }

    func upstreamContent(_ connection: UpstreamConnection, _ octets: Span<UInt8>) {
        guard content.count + octets.count <= Self.contentLimit else { return }
        for index in octets.indices { content.append(octets[index]) }
    }

    func upstreamEnded(trailers: [UInt8]) {
        guard status == 200 else { return end("status_\(status)_\(stage == .challenge ? "c" : "v")") }
        switch stage {
        case .challenge: prove()
        case .verify: end(LoadDevice.hasToken(content) ? nil : "token_missing")
        }
    }

    func upstreamFailed(_ fault: UpstreamFault) { end(fault.rawValue) }
    func upstreamDrained() {}
}
