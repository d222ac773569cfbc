// SPDX-License-Identifier: Apache-2.0

internal import HIDCrypto
internal import HIDHTTP
internal import HIDService
internal import HIDStore
internal import HIDVerifier

/// The end of an exchange: one line, one set of counters, one touch of its session, whatever the way out.
extension ExchangeDriver {
    func record(_ stream: ServerStream) {
        guard !isRecorded else { return }
        isRecorded = true
        var record = ExchangeRecord()
        fill(&record, from: stream)
        if let token = exchange.token {
            record.hid = token.hid
            record.verdict = token.effectiveVerdict.rawValue
            record.session = touchSession(token.hid)
        }
        services.shared.metrics.count(record, shard: loop.index)
        guard let log = services.shared.accessLog else { return }
        record.write(to: &services.line)
        log.write(services.line.bytes)
    }

    private func fill(_ record: inout ExchangeRecord, from stream: ServerStream) {
        let request = stream.request
        let now = MonotonicClock.now()
        record.time = loop.wall
        record.requestID = requestID
        record.supportCode = supportCode
        record.client = client
        record.listener = listener
        record.method = request.bytes[request.method]
        record.version = stream.version
        record.tls = stream.security?.version.rawValue
        record.host = request.host.map { request.bytes[$0] } ?? []
        record.path = scratch.path
        record.route = exchange.route.name
        record.match = exchange.match.kind
        record.mode = exchange.route.mode
        record.isCritical = exchange.route.isCritical
        record.decision = exchange.decision
        record.reason = exchange.reason
        record.status = status
        record.upstream = forward?.name
        record.server = forward?.server
        record.isReused = forward?.isReused == true
        record.attempts = forward?.attempts ?? 0
        record.upstreamStatus = upstreamStatus
        record.bytesIn = stream.bytesIn
        record.bytesOut = stream.bytesOut
        record.totalTime = now &- stream.requestStart
        record.verifyTime = verifyTime
        record.upstreamTime = forward.map { ($0.headTime ?? now) &- $0.start }
        record.end = end
    }

    private func touchSession(_ hid: [UInt8]) -> String? {
        let outcome: SessionOutcome
        switch exchange.decision {
        case .pass: outcome = .passed
        case .block: outcome = .blocked
        case .wouldBlock: outcome = .wouldBlock
        // Not judged, or judged and lost on the way: counted as what the checks said.
        case .reject, .error: outcome = exchange.isVerified ? .passed : .blocked
        }
        return services.shared.sessions.touch(
            hid: hid, address: { client.description }, outcome: outcome, now: loop.wall)
    }
}
