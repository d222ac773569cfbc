// SPDX-License-Identifier: Apache-2.0

import Dispatch
import HIDCrypto
import HIDHTTP
import HIDService

/// What one course of flows came to.
struct CourseResult: Sendable {
    /// Milliseconds: from the moment a device was due to its token, and of each request.
    var device = Samples()
    var challenge = Samples()
    var verify = Samples()
    /// Milliseconds by which flows began after they were due.
    var lag = Samples()
    /// By what went wrong.
    var failures: [String: Int] = [:]
    /// Nanoseconds from the begin to the last end.
    var elapsed: UInt64 = 0

    var completed: Int { device.values.count }
    /// Devices a second.
    var rate: Double { elapsed > 0 ? Double(completed) * 1e9 / Double(elapsed) : 0 }
}

/// Devices that come at set times, whatever the server does (an open loop), or each as soon as another is served.
///
/// Confined to its loop apart from `run` and `stop`, which block and come from one other thread.
final class LoadGenerator: @unchecked Sendable {
    /// What is to be done, and what of it was.
    private struct Course {
        var isNew: Bool
        var total: Int
        /// Devices a second; nil: as fast as the connections allow.
        var rate: Double?
        var begin: UInt64
        var limit: UInt64
        var begun = 0
        var ended = 0
        var result = CourseResult()
        var done: @Sendable (CourseResult) -> Void

        /// When the next flow is to begin.
        var due: UInt64 { rate.map { begin + UInt64(Double(begun) * 1e9 / $0) } ?? begin }
    }

    let authority: P256PrivateKey
    private let loop: EventLoop
    private let pool: UpstreamPool
    private let connections: Int
    private let base: String
    private let host: [UInt8]
    private let devices: [LoadDevice]
    private var course: Course?
    private var timer: LoopTimer?

    /// How long after its last due moment a course may go on, in nanoseconds.
    private static let patience: UInt64 = 10_000_000_000
    private static let tick = Delay(.milliseconds(1))

    init(
        url: URLText, connections: Int, devices: [LoadDevice], authority: P256PrivateKey
    ) throws(SystemCallError) {
        self.devices = devices
        self.authority = authority
        self.connections = connections
        base = url.target.hasSuffix("/") ? String(url.target.dropLast()) : url.target
        host = Array("\(url.host.contains(":") ? "[\(url.host)]" : url.host):\(url.port)".utf8)
        loop = try EventLoop(index: 0, label: "hidbench.loop")
        var target = UpstreamTarget(isTLS: url.isTLS, host: url.host, port: url.port)
        target.idleTimeout = .seconds(30)
        target.responseTimeout = .seconds(10)
        var policy = UpstreamPolicy()
        policy.maximumConnections = connections
        policy.ejection = nil
        pool = UpstreamPool(loop: loop, cluster: UpstreamCluster(target, policy: policy))
        timer = LoopTimer { [unowned self] in pump() }
        loop.start()
    }

    /// Runs `total` flows and waits for their end.
    func run(_ total: Int, isNew: Bool, rate: Double?) -> CourseResult {
        let done = DispatchSemaphore(value: 0)
        let box = ResultBox()
        loop.enqueue { [self] in
            let now = MonotonicClock.now()
            let span = rate.map { UInt64(Double(total) * 1e9 / $0) } ?? 60_000_000_000
            course = Course(
                isNew: isNew, total: total, rate: rate, begin: now, limit: now + span + Self.patience,
                done: { result in
                    box.result = result
                    done.signal()
                })
            pump()
        }
        done.wait()
        return box.result
    }

    /// Ends the loop; nothing of it runs any more when this returns.
    func stop() {
        loop.enqueue { [self] in
            timer?.cancel()
            pool.retire()
        }
        loop.stop()
        loop.queue.sync {}
    }

    // MARK: - On the loop

    /// Sends a request on a connection that is free, or on a new one.
    func post(_ endpoint: String, _ content: [UInt8], for flow: DeviceFlow) throws(UpstreamFault) {
        let connection = try pool.acquire(for: flow, isHeadRequest: false)
        connection.write { bytes in
            bytes += "POST \(base)/v1/m/hid/\(endpoint) HTTP/1.1\r\n".utf8
            _ = HeadWriter.field("Host", checking: host, into: &bytes)
            HeadWriter.field("Content-Type", "application/json", into: &bytes)
            HeadWriter.field("Content-Length", UInt64(content.count), into: &bytes)
            HeadWriter.endOfHead(into: &bytes)
            bytes += content
        }
        connection.endRequest()
    }

    func ended(_ flow: DeviceFlow, _ failure: String?) {
        guard course != nil else { return }
        course?.ended += 1
        if let failure {
            course?.result.failures[failure, default: 0] += 1
        } else {
            course?.result.device.add(Self.milliseconds(flow.due, flow.ended))
            course?.result.challenge.add(Self.milliseconds(flow.begun, flow.challenged))
            course?.result.verify.add(Self.milliseconds(flow.proving, flow.ended))
        }
        course?.result.lag.add(Self.milliseconds(flow.due, flow.begun))
        // Not from within: a flow that fails at once would come back here, as deep as there are devices.
        loop.afterEvents { [self] in pump() }
    }

    private func pump() {
        guard var current = course else { return }
        let now = MonotonicClock.now()
        if now > current.limit, current.begun < current.total {
            current.result.failures["not_begun", default: 0] += current.total - current.begun
            current.total = current.begun
        }
        let first = current.begun
        while current.begun < current.total, current.begun - current.ended < connections, current.due <= now {
            current.begun += 1
        }
        course = current
        for index in first..<current.begun { begin(index, current) }
        finish()
        if let course, course.begun < course.total, let timer { loop.set(timer, after: Self.tick) }
    }

    private func begin(_ index: Int, _ course: Course) {
        var place = course
        place.begun = index
        let device = devices[index % devices.count]
        DeviceFlow(device, isNew: course.isNew, due: place.due, generator: self).start()
    }

    private func finish() {
        guard var current = course, current.ended >= current.total else { return }
        course = nil
        current.result.elapsed = MonotonicClock.now() - current.begin
        current.done(current.result)
    }

    private static func milliseconds(_ from: UInt64, _ to: UInt64) -> Double {
        to > from ? Double(to - from) / 1e6 : 0
    }
}

/// Written on the loop before the semaphore that its reader waits for.
private final class ResultBox: @unchecked Sendable {
    var result = CourseResult()
}
