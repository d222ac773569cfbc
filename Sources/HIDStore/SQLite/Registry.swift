// SPDX-License-Identifier: Apache-2.0

/// A registry in a database file: the verbs of the store, each within a transaction that the caller begins and ends.
///
/// Confined by its owner to one queue. A verb that throws leaves a transaction of which nothing may be kept.
final class Registry {
    /// Statements, and what is known of the rows without asking.
    private struct Tables {
        var challenges: ChallengeRows
        var devices: DeviceRows
        var denials: DenialRows
        var events: EventRows
    }

    let database: SQLiteDatabase
    private let begin: SQLiteStatement
    private let commit: SQLiteStatement
    private let insertProbe: SQLiteStatement
    private let deleteProbe: SQLiteStatement
    private var tables: Tables
    private var committed: Tables
    private var isDurable = true

    /// Opens or makes the registry.
    ///
    /// - Parameters:
    ///   - path: in a directory that exists.
    ///   - limits: how much is kept.
    ///   - bootID: names this run of the machine; when it is another one than at the last opening, or not known, all
    ///     challenges are dropped: a loss of power may have brought back such as were used.
    ///   - waitMilliseconds: how long to wait for another program that has the file.
    /// - Throws: `full` or `unavailable`; a file that is no registry of ours stays as it is.
    init(
        path: String, limits: IssuerStoreLimits, bootID: String?, waitMilliseconds: Int32
    ) throws(StoreFault) {
        try RegistryFile.prepare(path)
        do {
            database = try SQLiteDatabase(path: path, waitMilliseconds: waitMilliseconds)
            try Self.configure(database, bootID: bootID)
            begin = try database.prepare("BEGIN")
            commit = try database.prepare("COMMIT")
            insertProbe = try database.prepare("INSERT INTO meta VALUES ('probe', zeroblob(8192))")
            deleteProbe = try database.prepare("DELETE FROM meta WHERE name = 'probe'")
            tables = Tables(
                challenges: try ChallengeRows(database, limits: limits),
                devices: try DeviceRows(database, limits: limits),
                denials: try DenialRows(database, limits: limits), events: try EventRows(database, limits: limits))
            committed = tables
        } catch let fault as SQLiteFault {
            throw fault.isBusy ? .unavailable("\(path): another program has the registry open") : fault.storeFault(path)
        } catch {
            throw .unavailable("\(path): \(error)")
        }
    }

    private static func configure(_ database: SQLiteDatabase, bootID: String?) throws {
        // One owner: a second server on the same file would break the bounds; it also saves the locks of every
        // transaction. Set before the first read, so that no shared memory file is made.
        try database.execute("PRAGMA locking_mode = EXCLUSIVE; PRAGMA trusted_schema = OFF; PRAGMA temp_store = MEMORY")
        try RegistrySchema.migrate(database)
        let mode = try database.prepare("PRAGMA journal_mode = WAL").first { row throws(SQLiteFault) in
            try row.text(0)
        }
        guard mode == "wal" else { throw StoreFault.unavailable("the registry takes no write-ahead log") }
        // Nothing in it is secret, so what is deleted need not be overwritten. A checkpoint syncs both files while
        // every call waits; challenges write the same few pages over and over, so one in 32 MiB of log copies little
        // more than one in the usual 4 MiB.
        try database.execute(
            """
            PRAGMA synchronous = FULL; PRAGMA secure_delete = OFF; PRAGMA cache_size = -32768;
            PRAGMA journal_size_limit = 67108864; PRAGMA wal_autocheckpoint = 8192
            """)
        try dropChallengesOfFormerBoot(database, bootID: bootID)
    }

    private static func dropChallengesOfFormerBoot(_ database: SQLiteDatabase, bootID: String?) throws {
        let select = try database.prepare("SELECT value FROM meta WHERE name = 'boot_id'")
        let known = try select.first { row throws(SQLiteFault) in try row.text(0) }
        guard bootID == nil || known != bootID else { return }
        try database.execute("BEGIN IMMEDIATE; DELETE FROM challenge; DELETE FROM meta WHERE name = 'boot_id'")
        if let bootID { try database.prepare("INSERT INTO meta VALUES ('boot_id', ?)").run(.text(bootID)) }
        try database.execute("COMMIT")
    }

    // MARK: - Transactions

    /// Begins a transaction; a durable one is on the disk when it is committed, any other survives the process only.
    func begin(durable: Bool) throws(SQLiteFault) {
        if durable != isDurable {
            try database.execute(durable ? "PRAGMA synchronous = FULL" : "PRAGMA synchronous = NORMAL")
            isDurable = durable
        }
        try begin.run()
    }

    func commitTransaction() throws(SQLiteFault) {
        try commit.run()
        committed = tables
    }

    /// Undoes everything since the transaction began; SQLite may have done so already.
    func rollBack() {
        // Should it fail, the next BEGIN fails as well and leads here again.
        if database.isInTransaction { try? database.execute("ROLLBACK") }
        tables = committed
    }

    // MARK: - Verbs

    func issue(_ challenge: Challenge, now: Int64) throws(SQLiteFault) -> Result<Bool, StoreFault> {
        if let fault = try tables.challenges.add(challenge, now: now) { return .failure(fault) }
        return .success(try tables.devices.hidInForce(challenge.appID, challenge.deviceID) != nil)
    }

    func consume(_ id: String, now: Int64) throws(SQLiteFault) -> ConsumedChallenge? {
        guard let challenge = try tables.challenges.take(id) else { return nil }
        guard let device = try tables.devices.inForce(challenge.appID, challenge.deviceID) else {
            return ConsumedChallenge(challenge: challenge)
        }
        let denial = try tables.denials.inForce(device.hid, now: now)
        return ConsumedChallenge(challenge: challenge, device: device, denial: denial)
    }

    func register(_ device: DeviceRecord, now: Int64) throws(SQLiteFault) -> Result<RegistrationAnswer, StoreFault> {
        let answer = try tables.devices.register(device, now: now)
        guard case .success(.registered(let isNew, let retired, _)) = answer else { return answer }
        let denial = try tables.denials.inForce(device.hid, now: now)
        return .success(.registered(isNew: isNew, retired: retired, denial: denial))
    }

    func advance(keyID: [UInt8], to counter: UInt32) throws(SQLiteFault) -> Bool {
        try tables.devices.advance(keyID: keyID, to: counter)
    }

    func block(serials: [String: String]) throws(SQLiteFault) -> [String] {
        try tables.devices.block(serials: serials)
    }

    func deny(_ denial: Denial) throws(SQLiteFault) -> Result<Void, StoreFault> {
        try tables.denials.deny(denial).map { .failure($0) } ?? .success(())
    }

    func allow(_ hid: String, reason: String, now: Int64) throws(SQLiteFault) -> Bool {
        try tables.denials.lift(hid, reason: reason, now: now)
    }

    func denials(history: Bool, now: Int64) throws(SQLiteFault) -> [Denial] {
        try tables.denials.list(history: history, now: now)
    }

    func device(_ hid: String) throws(SQLiteFault) -> DeviceRecord? {
        try tables.devices.device(hid)
    }

    func registrations(ofBatch batchID: String, since: Int64) throws(SQLiteFault) -> Int {
        try tables.devices.registrations(ofBatch: batchID, since: since)
    }

    func record(_ event: RegistryEvent) throws(SQLiteFault) {
        try tables.events.add(event)
    }

    func events(hid: String?, limit: Int) throws(SQLiteFault) -> [RegistryEvent] {
        try tables.events.last(limit, of: hid)
    }

    /// Takes room and gives it back.
    ///
    /// The row is larger than a page, so that a file which cannot grow is noticed before an insertion needs it.
    func probe() throws(SQLiteFault) {
        try deleteProbe.run()
        try insertProbe.run()
        try deleteProbe.run()
    }

    /// What SQLite finds wrong in the file; empty when nothing is.
    ///
    /// Reads all of it.
    func faults() throws(SQLiteFault) -> [String] {
        try database.prepare("PRAGMA quick_check").all { row throws(SQLiteFault) in try row.text(0) }
            .filter { $0 != "ok" }
    }

    /// Holds the file to `pages` pages of 4 KiB.
    func limitSize(pages: Int64) throws(SQLiteFault) {
        _ = try database.number("PRAGMA max_page_count = \(pages)")
    }
}
