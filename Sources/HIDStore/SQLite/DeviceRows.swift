// SPDX-License-Identifier: Apache-2.0

/// The device keys of a registry on disk.
struct DeviceRows {
    private static let columns = """
        hid, app_id, device_id, platform, public_key, level, environment, tier, blocked, batch_id, key_id,
        assertion_key, counter, facts, registered, retired
        """

    private let limit: Int
    private let selectByHID: SQLiteStatement
    private let selectInForce: SQLiteStatement
    private let selectHIDInForce: SQLiteStatement
    private let selectKeyID: SQLiteStatement
    private let selectSerials: SQLiteStatement
    private let selectUnblocked: SQLiteStatement
    private let countBatch: SQLiteStatement
    private let insert: SQLiteStatement
    private let update: SQLiteStatement
    private let insertKeyID: SQLiteStatement
    private let insertSerial: SQLiteStatement
    private let deleteSerials: SQLiteStatement
    private let retire: SQLiteStatement
    private let block: SQLiteStatement
    private let raiseCounter: SQLiteStatement
    private var count: Int

    init(_ database: SQLiteDatabase, limits: IssuerStoreLimits) throws(SQLiteFault) {
        limit = limits.devices
        let columns = Self.columns
        selectByHID = try database.prepare("SELECT \(columns) FROM device WHERE hid = ?")
        selectInForce = try database.prepare(
            "SELECT \(columns) FROM device WHERE app_id = ? AND device_id = ? AND retired IS NULL")
        selectHIDInForce = try database.prepare(
            "SELECT hid FROM device WHERE app_id = ? AND device_id = ? AND retired IS NULL")
        selectKeyID = try database.prepare("SELECT 1 FROM attested_key WHERE key_id = ?")
        selectSerials = try database.prepare("SELECT serial FROM serial WHERE hid = ? ORDER BY position")
        selectUnblocked = try database.prepare(
            "SELECT DISTINCT hid FROM serial JOIN device USING (hid) WHERE serial = ? AND blocked IS NULL")
        countBatch = try database.prepare("SELECT count(*) FROM device WHERE batch_id = ? AND registered >= ?")
        insert = try database.prepare(
            "INSERT INTO device (\(columns)) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, NULL)")
        update = try database.prepare(
            """
            UPDATE device SET device_id = ?, platform = ?, level = ?, environment = ?, tier = ?, blocked = ?,
            batch_id = ?, key_id = ?, assertion_key = ?, counter = ?, facts = ?, retired = NULL WHERE hid = ?
            """)
        insertKeyID = try database.prepare("INSERT INTO attested_key VALUES (?, ?)")
        insertSerial = try database.prepare("INSERT INTO serial VALUES (?, ?, ?)")
        deleteSerials = try database.prepare("DELETE FROM serial WHERE hid = ?")
        retire = try database.prepare("UPDATE device SET retired = ? WHERE hid = ?")
        block = try database.prepare("UPDATE device SET blocked = ? WHERE hid = ?")
        raiseCounter = try database.prepare(
            """
            UPDATE device SET counter = ?1 WHERE counter < ?1 AND key_id = ?2
            AND hid = (SELECT hid FROM attested_key WHERE key_id = ?2)
            """)
        // Rows are never removed, so the highest number is how many there are, without reading them all.
        count = try database.count("SELECT coalesce(max(rowid), 0) FROM device")
    }

    // MARK: - Reading

    func device(_ hid: String) throws(SQLiteFault) -> DeviceRecord? {
        try complete(selectByHID.first(.text(hid), body: Self.record))
    }

    func inForce(_ appID: String, _ deviceID: String) throws(SQLiteFault) -> DeviceRecord? {
        try complete(selectInForce.first(.text(appID), .text(deviceID), body: Self.record))
    }

    func hidInForce(_ appID: String, _ deviceID: String) throws(SQLiteFault) -> String? {
        try selectHIDInForce.first(.text(appID), .text(deviceID)) { row throws(SQLiteFault) in try row.text(0) }
    }

    func registrations(ofBatch batchID: String, since: Int64) throws(SQLiteFault) -> Int {
        Int(try countBatch.first(.text(batchID), .integer(since)) { row throws(SQLiteFault) in row.integer(0) } ?? 0)
    }

    private func complete(_ record: DeviceRecord?) throws(SQLiteFault) -> DeviceRecord? {
        guard var record else { return nil }
        record.serials = try selectSerials.all(.text(record.hid)) { row throws(SQLiteFault) in try row.text(0) }
        return record
    }

    private static func record(_ row: borrowing SQLiteRow) throws(SQLiteFault) -> DeviceRecord {
        var record = DeviceRecord(
            hid: try row.text(0), appID: try row.text(1), deviceID: try row.text(2), platform: try row.text(3),
            publicKey: row.blob(4), level: try row.text(5), environment: try row.text(6), tier: try row.text(7),
            registered: row.integer(14))
        record.blocked = try row.optionalText(8)
        record.batchID = try row.optionalText(9)
        record.keyID = row.optionalBlob(10)
        record.assertionKey = row.optionalBlob(11)
        guard let counter = UInt32(exactly: row.integer(12)) else { throw .damaged("a counter in the registry") }
        record.counter = counter
        record.facts = try row.text(13)
        record.retired = row.optionalInteger(15)
        return record
    }

    // MARK: - Writing

    mutating func register(
        _ device: DeviceRecord, now: Int64
    ) throws(SQLiteFault) -> Result<RegistrationAnswer, StoreFault> {
        if let keyID = device.keyID, try selectKeyID.first(.blob(keyID), body: { _ in true }) != nil {
            return .success(.keyIDUsed)
        }
        let former = try self.device(device.hid)
        if let former, former.publicKey != device.publicKey || former.appID != device.appID {
            return .failure(.keyMismatch)
        }
        if former == nil, count >= limit { return .failure(.devicesFull) }
        var replaced = try hidInForce(device.appID, device.deviceID)
        if replaced == device.hid { replaced = nil }
        if let replaced { try retire.run(.integer(now), .text(replaced)) }
        try write(device, isNew: former == nil)
        return .success(.registered(isNew: former == nil, retired: replaced, denial: nil))
    }

    private mutating func write(_ device: DeviceRecord, isNew: Bool) throws(SQLiteFault) {
        if isNew {
            try insert.run(
                .text(device.hid), .text(device.appID), .text(device.deviceID), .text(device.platform),
                .blob(device.publicKey), .text(device.level), .text(device.environment), .text(device.tier),
                SQLiteValue(device.blocked), SQLiteValue(device.batchID), SQLiteValue(device.keyID),
                SQLiteValue(device.assertionKey), .integer(Int64(device.counter)), .text(device.facts),
                .integer(device.registered))
            count += 1
        } else {
            try update.run(
                .text(device.deviceID), .text(device.platform), .text(device.level), .text(device.environment),
                .text(device.tier), SQLiteValue(device.blocked), SQLiteValue(device.batchID),
                SQLiteValue(device.keyID), SQLiteValue(device.assertionKey), .integer(Int64(device.counter)),
                .text(device.facts), .text(device.hid))
            try deleteSerials.run(.text(device.hid))
        }
        var position: Int64 = 0
        for serial in device.serials {
            try insertSerial.run(.text(device.hid), .integer(position), .text(serial))
            position += 1
        }
        if let keyID = device.keyID { try insertKeyID.run(.blob(keyID), .text(device.hid)) }
    }

    func advance(keyID: [UInt8], to counter: UInt32) throws(SQLiteFault) -> Bool {
        try raiseCounter.run(.integer(Int64(counter)), .blob(keyID)) == 1
    }

    func block(serials: [String: String]) throws(SQLiteFault) -> [String] {
        var blocked: [String] = []
        for (serial, reason) in serials.sorted(by: { $0.key < $1.key }) {
            let hids = try selectUnblocked.all(.text(serial)) { row throws(SQLiteFault) in try row.text(0) }
            for hid in hids { try block.run(.text(reason), .text(hid)) }
            blocked += hids
        }
        return blocked.sorted()
    }
}
