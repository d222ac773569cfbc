// SPDX-License-Identifier: Apache-2.0

/// The events of a registry on disk.
struct EventRows {
    private static let columns = "time, kind, app_id, device_id, platform, hid, reason, request_id"
    /// At most so many old events go with a new one.
    private static let trimBatch: Int64 = 16

    private let limit: Int
    private let age: Int64
    private let insert: SQLiteStatement
    private let list: SQLiteStatement
    private let listOfHID: SQLiteStatement
    private let deleteOldest: SQLiteStatement
    private let deleteAged: SQLiteStatement
    private var count: Int
    /// The moment for which nothing was left that is too old.
    private var trimmed: Int64?

    init(_ database: SQLiteDatabase, limits: IssuerStoreLimits) throws(SQLiteFault) {
        limit = limits.events
        age = limits.eventAge
        let columns = Self.columns
        insert = try database.prepare("INSERT INTO event (\(columns)) VALUES (?, ?, ?, ?, ?, ?, ?, ?)")
        list = try database.prepare("SELECT \(columns) FROM event ORDER BY id DESC LIMIT ?")
        listOfHID = try database.prepare("SELECT \(columns) FROM event WHERE hid = ? ORDER BY id DESC LIMIT ?")
        let oldest = "(SELECT id FROM event ORDER BY id LIMIT ?)"
        deleteOldest = try database.prepare("DELETE FROM event WHERE id IN \(oldest)")
        deleteAged = try database.prepare("DELETE FROM event WHERE id IN \(oldest) AND time < ?")
        count = try database.count("SELECT coalesce(max(id) - min(id) + 1, 0) FROM event")
    }

    mutating func add(_ event: RegistryEvent) throws(SQLiteFault) {
        if trimmed != event.time {
            let removed = try deleteAged.run(.integer(Self.trimBatch), .integer(event.time.before(age)))
            count -= removed
            if removed < Self.trimBatch { trimmed = event.time }
        }
        guard limit > 0 else { return }
        if count >= limit {
            let excess = min(Int64(count - limit + 1), Self.trimBatch)
            count -= try deleteOldest.run(.integer(excess))
        }
        try insert.run(
            .integer(event.time), .text(event.kind), .text(event.appID), .text(event.deviceID), .text(event.platform),
            SQLiteValue(event.hid), SQLiteValue(event.reason), SQLiteValue(event.requestID))
        count += 1
    }

    func last(_ limit: Int, of hid: String?) throws(SQLiteFault) -> [RegistryEvent] {
        // A negative LIMIT would be none at all.
        let limit = SQLiteValue.integer(Int64(max(limit, 0)))
        guard let hid else { return try list.all(limit, body: Self.event) }
        return try listOfHID.all(.text(hid), limit, body: Self.event)
    }

    private static func event(_ row: borrowing SQLiteRow) throws(SQLiteFault) -> RegistryEvent {
        RegistryEvent(
            time: row.integer(0), kind: try row.text(1), appID: try row.text(2), deviceID: try row.text(3),
            platform: try row.text(4), hid: try row.optionalText(5), reason: try row.optionalText(6),
            requestID: try row.optionalText(7))
    }
}
