// SPDX-License-Identifier: Apache-2.0

internal import Dispatch
internal import HIDHTTP
package import HIDService
package import HIDStore
internal import Synchronization

/// Keeps the list of revoked attestation keys: the old one on any fault, an alarm when something is wrong.
///
/// Fetching, parsing and the check of stored devices are done on a queue of its own; verifications read a snapshot.
package final class RevocationKeeper: Sendable {
    /// Where the list stands.
    package struct Status: Sendable {
        package var list: RevocationList?
        /// Wall clock, seconds since 1970, of the last good fetch or of the file.
        package var loaded: Int64?
        package var failures = 0
        /// The last failure, until the next good load.
        package var fault: String?
        package var etag: String?
    }

    private struct State {
        var status = Status()
        var isStopped = false
        var isFetching = false
        var retryDelay: Int64 = 30
        /// Of the file that was looked at last.
        var fileStamp: FileSystem.Stamp?
        var nextFetch: UInt64 = 0
        /// When the stored devices are to be checked again, because the store failed; monotonic.
        var nextCheck: UInt64?
    }

    private let configuration: RevocationListConfiguration
    private let store: any IssuerStore
    private let log: Log
    private let metrics: IssuerMetrics
    private let clock: IssuerClock
    private let queue = DispatchQueue(label: "hidgate.revocations", qos: .utility)
    private let state = Mutex(State())

    private static let floor: Int64 = 600
    private static let defaultAge: Int64 = 3_600
    private static let ceiling: Int64 = 86_400
    private static let retryCeiling: Int64 = 900
    /// Nanoseconds until stored devices are checked again after the store failed.
    private static let checkDelay: UInt64 = 10_000_000_000

    package init(
        _ configuration: RevocationListConfiguration, store: any IssuerStore, log: Log, metrics: IssuerMetrics,
        clock: IssuerClock
    ) {
        self.configuration = configuration
        self.store = store
        self.log = log
        self.metrics = metrics
        self.clock = clock
    }

    package var status: Status { state.withLock { $0.status } }
    /// Whether an answer is awaited.
    var isFetching: Bool { state.withLock { $0.isFetching } }
    /// The list to judge by.
    package var list: RevocationList? { state.withLock { $0.status.list } }

    /// Whether the list is too old to judge by, or missing.
    package func isStale(at now: Int64) -> Bool {
        guard let loaded = state.withLock({ $0.status.loaded }) else { return true }
        return now &- loaded > configuration.maximumAge.components.seconds
    }

    /// Loads the last good copy in place; a URL is fetched in the background, so that no network stops a start.
    package func start() {
        for path in [configuration.file, configuration.snapshot] {
            if let path, list == nil { load(path) }
        }
        tick()
    }

    /// Ends fetching.
    package func stop() {
        state.withLock { $0.isStopped = true }
    }

    /// Looks whether a fetch is due or the file has changed; call it every few seconds.
    package func tick() {
        let now = clock.monotonic()
        let isCheckDue = state.withLock { state in
            guard let moment = state.nextCheck, moment <= now, !state.isStopped else { return false }
            state.nextCheck = nil
            return true
        }
        if isCheckDue { queue.async { if let list = self.list { self.checkDevices(list) } } }
        guard configuration.url != nil else {
            queue.async { self.loadIfChanged() }
            return
        }
        let isDue = state.withLock { state in
            guard !state.isStopped, !state.isFetching, now >= state.nextFetch else { return false }
            state.isFetching = true
            state.nextFetch = .max
            return true
        }
        if isDue { queue.async { self.fetch() } }
    }

    /// Loads or fetches now, on SIGHUP.
    package func reload() {
        state.withLock { state in
            state.nextFetch = 0
            state.fileStamp = nil
        }
        tick()
    }

    // MARK: - Files

    private func loadIfChanged() {
        guard let path = configuration.file, let stamp = FileSystem.stamp(path) else { return }
        if state.withLock({ $0.fileStamp != stamp }) { load(path) }
    }

    private func load(_ path: String) {
        do {
            // Before the file is read, so that what is written meanwhile is seen the next time.
            let stamp = FileSystem.stamp(path)
            let bytes = try FileSystem.contents(of: path, limit: RevocationList.maximumSize)
            // Not that of the snapshot: the file would be taken for changed.
            if path == configuration.file { state.withLock { $0.fileStamp = stamp } }
            // A date in the future must not keep a list fresh for ever.
            let loaded = min(stamp?.seconds ?? 0, clock.wall())
            take(try RevocationList(json: bytes), loaded: loaded, bytes: nil)
        } catch let fault as SystemFault where fault.code == SystemFault.notFound && configuration.url != nil {
            // The first start: the fetch makes it.
        } catch {
            note("\(path): \(error)")
        }
    }

    // MARK: - Fetching

    private func fetch() {
        guard let url = configuration.url else { return }
        var request = ControlRequest(method: Array("GET".utf8), url: url)
        (request.answerLimit, request.timeout) = (RevocationList.maximumSize, .seconds(30))
        let etag = state.withLock { $0.status.list == nil ? nil : $0.status.etag }
        if let etag { request.fields.append(Array("If-None-Match: \(etag)".utf8)) }
        let delay = judge(ControlExchange.send(request), isConditional: etag != nil)
        // Many servers that started together must not ask together for ever.
        let jitter = Int64.random(in: 0...max(1, delay / 10))
        let next = clock.monotonic() &+ UInt64(delay &+ jitter) &* 1_000_000_000
        state.withLock { state in
            state.isFetching = false
            // It is earlier when a reload was asked for meanwhile.
            state.nextFetch = min(state.nextFetch, next)
        }
    }

    /// Takes over a good answer; tells in how many seconds to ask again.
    private func judge(_ result: Result<ControlAnswer, ControlExchangeFault>, isConditional: Bool) -> Int64 {
        switch result {
        case .failure(let fault): note(fault.description)
        // Who was not asked for a change cannot say that there is none.
        case .success(let answer) where answer.status == 304 && isConditional:
            confirm()
            return due(answer)
        case .success(let answer) where answer.status == 200:
            do {
                take(try RevocationList(json: answer.body), loaded: clock.wall(), bytes: answer.body)
                if status.fault == nil {
                    state.withLock { $0.status.etag = answer.etag }
                    return due(answer)
                }
            } catch {
                note("\(error)")
            }
        case .success(let answer): note("the list's server answered \(answer.status)")
        }
        return state.withLock { state in
            defer { state.retryDelay = min(state.retryDelay * 2, Self.retryCeiling) }
            return state.retryDelay
        }
    }

    private func due(_ answer: ControlAnswer) -> Int64 {
        let age = Int64(answer.maxAge ?? Int(Self.defaultAge)) - Int64(answer.age ?? 0)
        return min(max(age, Self.floor), Self.ceiling)
    }

    /// The server says that nothing has changed.
    private func confirm() {
        let now = clock.wall()
        state.withLock { state in
            state.status.loaded = now
            state.status.fault = nil
            state.retryDelay = 30
        }
        // A restart takes the age of the list from the file.
        guard let path = configuration.file else { return }
        do throws(SystemFault) {
            try FileSystem.touch(path)
        } catch {
            log.error("revocations.not_saved", ["path": .string(path), "fault": .string(error.description)])
        }
    }

    // MARK: - Taking over

    /// `bytes` of a fetched list are written to the file; a list that has lost half its entries is not believed.
    private func take(_ list: RevocationList, loaded: Int64, bytes: [UInt8]?) {
        let old = self.list
        if let old, old.count >= 10, list.count * 2 < old.count {
            return note("the new list has \(list.count) entries, the old one \(old.count): it is not taken over")
        }
        if bytes != nil, list.count == 0 { return note("the fetched list is empty: it is not taken over") }
        state.withLock { state in
            state.status.list = list
            state.status.loaded = loaded
            state.status.fault = nil
            state.retryDelay = 30
        }
        log.info(
            "revocations.loaded", ["entries": .integer(list.count), "age_s": .integer(Int(clock.wall() &- loaded))])
        if let bytes { keep(bytes) }
        if list != old { checkDevices(list) }
    }

    private func keep(_ bytes: [UInt8]) {
        guard let path = configuration.file else { return }
        do throws(SystemFault) {
            try FileSystem.replace(path, with: bytes, mode: 0o640)
        } catch {
            log.error("revocations.not_saved", ["path": .string(path), "fault": .string(error.description)])
        }
    }

    /// A phone that was attested with a key revoked since loses its good standing.
    private func checkDevices(_ list: RevocationList) {
        let now = clock.wall()
        store.block(serials: list.reasons, now: now) { [self] result in
            switch result {
            case .failure(let fault):
                log.error("revocations.devices_not_checked", ["fault": .string(fault.description)])
                let next = clock.monotonic() &+ Self.checkDelay
                state.withLock { $0.nextCheck = next }
            case .success(let hids):
                metrics.revokedDevices.add(hids.count)
                for hid in hids.prefix(100) {
                    log.warning("device.revoked", ["hid": .string(String(hid.prefix(8)))])
                    store.record(
                        RegistryEvent(
                            time: now, kind: "revoked", appID: "", deviceID: "", platform: "android", hid: hid,
                            reason: AttestationReason.revoked.rawValue))
                }
                if hids.count > 100 { log.warning("device.revoked_many", ["devices": .integer(hids.count)]) }
            }
        }
    }

    private func note(_ fault: String) {
        let hasList = state.withLock { state in
            state.status.failures += 1
            state.status.fault = fault
            return state.status.list != nil
        }
        log.error("revocations.not_loaded", ["fault": .string(fault), "keeps_old_list": .bool(hasList)])
    }

    // MARK: - Metrics

    /// Registers what tells the state of the list.
    package func registerGauges() {
        let registry = metrics.registry
        registry.gauge("hisd_revocation_entries", help: "Entries of the revocation list in force.") { [self] in
            Double(list?.count ?? 0)
        }
        registry.gauge(
            "hisd_revocation_age_seconds", help: "Since the last good load of the revocation list; -1 before it."
        ) { [self] in
            guard let loaded = status.loaded else { return -1 }
            return Double(max(0, clock.wall() &- loaded))
        }
        registry.gauge(
            "hisd_revocation_alarm", help: "1 while the last load of the revocation list failed or it is too old."
        ) { [self] in
            status.fault != nil || isStale(at: clock.wall()) ? 1 : 0
        }
        registry.counter("hisd_revocation_failures_total", help: "Failed loads of the revocation list.") { [self] in
            Double(status.failures)
        }
    }
}
