// SPDX-License-Identifier: Apache-2.0

/// Everything a registry in memory knows.
struct IssuerTable {
    private struct Place: Hashable {
        var appID: String
        var deviceID: String
    }

    private let limits: IssuerStoreLimits
    private var challenges: [String: Challenge] = [:]
    /// Ids of the challenges held, by the second in which they expire.
    private var expiring: [Int64: Set<String>] = [:]
    private var swept: Int64?
    private(set) var devices: [String: DeviceRecord] = [:]
    /// The hid in force.
    private var inForce: [Place: String] = [:]
    /// App Attest keys that were ever registered.
    private var keyIDs: [[UInt8]: String] = [:]
    private var bySerial: [String: Set<String>] = [:]
    private var byBatch: [String: Set<String>] = [:]
    var denials: DenialTable
    var events: EventTable

    init(limits: IssuerStoreLimits) {
        self.limits = limits
        denials = DenialTable(limit: limits.denials)
        events = EventTable(limit: limits.events, age: limits.eventAge)
    }

    // MARK: - Challenges

    mutating func issue(_ challenge: Challenge, now: Int64) -> Result<Bool, StoreFault> {
        if swept != now {
            swept = now
            sweep(until: now.before(limits.challengeGrace))
        }
        if challenges.count >= limits.challenges { sweep(until: now) }
        guard challenges.count < limits.challenges else { return .failure(.challengesFull) }
        guard challenges[challenge.id] == nil else { return .failure(.challengeIDTaken) }
        challenges[challenge.id] = challenge
        expiring[challenge.expiry, default: []].insert(challenge.id)
        return .success(inForce[Place(appID: challenge.appID, deviceID: challenge.deviceID)] != nil)
    }

    private mutating func sweep(until moment: Int64) {
        for second in expiring.keys.filter({ $0 <= moment }) {
            for id in expiring.removeValue(forKey: second) ?? [] { challenges[id] = nil }
        }
    }

    mutating func consume(_ id: String, now: Int64) -> ConsumedChallenge? {
        guard let challenge = challenges.removeValue(forKey: id) else { return nil }
        expiring[challenge.expiry]?.remove(id)
        if expiring[challenge.expiry]?.isEmpty == true { expiring[challenge.expiry] = nil }
        let hid = inForce[Place(appID: challenge.appID, deviceID: challenge.deviceID)]
        return ConsumedChallenge(
            challenge: challenge, device: hid.flatMap { devices[$0] },
            denial: hid.flatMap { denials.inForce($0, now: now) })
    }

    // MARK: - Devices

    mutating func register(_ device: DeviceRecord, now: Int64) -> Result<RegistrationAnswer, StoreFault> {
        if let keyID = device.keyID, keyIDs[keyID] != nil { return .success(.keyIDUsed) }
        let former = devices[device.hid]
        if let former, former.publicKey != device.publicKey || former.appID != device.appID {
            return .failure(.keyMismatch)
        }
        if former == nil, devices.count >= limits.devices { return .failure(.devicesFull) }
        if let former { withdraw(former) }
        let place = Place(appID: device.appID, deviceID: device.deviceID)
        let replaced = inForce.updateValue(device.hid, forKey: place)
        if let replaced { devices[replaced]?.retired = now }
        var record = device
        record.registered = former?.registered ?? device.registered
        record.retired = nil
        devices[device.hid] = record
        if let keyID = record.keyID { keyIDs[keyID] = record.hid }
        for serial in record.serials { bySerial[serial, default: []].insert(record.hid) }
        if let batchID = record.batchID { byBatch[batchID, default: []].insert(record.hid) }
        let denial = denials.inForce(record.hid, now: now)
        return .success(.registered(isNew: former == nil, retired: replaced, denial: denial))
    }

    /// Takes a record out of all indexes but that of used App Attest keys.
    private mutating func withdraw(_ record: DeviceRecord) {
        let place = Place(appID: record.appID, deviceID: record.deviceID)
        if inForce[place] == record.hid { inForce[place] = nil }
        for serial in record.serials { bySerial[serial]?.remove(record.hid) }
        if let batchID = record.batchID { byBatch[batchID]?.remove(record.hid) }
    }

    mutating func advance(keyID: [UInt8], to counter: UInt32) -> Bool {
        guard let hid = keyIDs[keyID], let device = devices[hid], device.keyID == keyID, counter > device.counter
        else { return false }
        devices[hid]?.counter = counter
        return true
    }

    mutating func block(serials: [String: String]) -> [String] {
        var blocked: [String] = []
        for (serial, reason) in serials.sorted(by: { $0.key < $1.key }) {
            for hid in bySerial[serial] ?? [] where devices[hid]?.blocked == nil {
                devices[hid]?.blocked = reason
                blocked.append(hid)
            }
        }
        return blocked.sorted()
    }

    func registrations(ofBatch batchID: String, since: Int64) -> Int {
        (byBatch[batchID] ?? []).count { hid in devices[hid].map { $0.registered >= since } == true }
    }
}

/// Denials in the order they were written.
struct DenialTable {
    private let limit: Int
    private var denials: [Int: Denial] = [:]
    /// Those of a hid that were not lifted, oldest first.
    private var open: [String: [Int]] = [:]
    private var next = 0

    init(limit: Int) {
        self.limit = limit
    }

    func inForce(_ hid: String, now: Int64) -> Denial? {
        (open[hid] ?? []).reversed().lazy.compactMap { denials[$0] }.first { $0.isInForce(at: now) }
    }

    mutating func deny(_ denial: Denial) -> Result<Void, StoreFault> {
        lift(denial.hid, reason: Denial.replaced, now: denial.created)
        if denials.count >= limit { removeOldest(now: denial.created) }
        guard denials.count < limit else { return .failure(.denialsFull) }
        var written = denial
        (written.lifted, written.liftReason) = (nil, nil)
        denials[next] = written
        open[denial.hid, default: []].append(next)
        next += 1
        return .success(())
    }

    private mutating func removeOldest(now: Int64) {
        guard let number = denials.lazy.filter({ !$0.value.isInForce(at: now) }).map(\.key).min(),
            let denial = denials.removeValue(forKey: number)
        else { return }
        close(number, denial.hid)
    }

    private mutating func close(_ number: Int, _ hid: String) {
        open[hid]?.removeAll { $0 == number }
        if open[hid]?.isEmpty == true { open[hid] = nil }
    }

    /// Lifts what is in force against a hid; false when there is nothing.
    @discardableResult
    mutating func lift(_ hid: String, reason: String, now: Int64) -> Bool {
        let lifted = (open[hid] ?? []).filter { denials[$0]?.isInForce(at: now) == true }
        for number in lifted {
            denials[number]?.lifted = now
            denials[number]?.liftReason = reason
            close(number, hid)
        }
        return !lifted.isEmpty
    }

    func list(history: Bool, now: Int64) -> [Denial] {
        denials.sorted { $0.key > $1.key }.map(\.value).filter { history || $0.isInForce(at: now) }
    }
}

/// Events in the order they were written.
struct EventTable {
    private let limit: Int
    private let age: Int64
    private var events: [RegistryEvent] = []
    /// Those before it are gone.
    private var first = 0

    init(limit: Int, age: Int64) {
        self.limit = limit
        self.age = age
    }

    mutating func append(_ event: RegistryEvent) {
        events.append(event)
        let oldest = event.time.before(age)
        while first < events.count, events.count - first > limit || events[first].time < oldest { first += 1 }
        if first > 1_000, first > events.count / 2 {
            events.removeFirst(first)
            first = 0
        }
    }

    func last(_ limit: Int, of hid: String?) -> [RegistryEvent] {
        let kept = events[first...].reversed().lazy.filter { hid == nil || $0.hid == hid }
        return Array(kept.prefix(max(limit, 0)))
    }
}
