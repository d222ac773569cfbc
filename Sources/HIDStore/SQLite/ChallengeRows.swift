// SPDX-License-Identifier: Apache-2.0

/// The challenges of a registry on disk.
struct ChallengeRows {
    /// At most so many expired challenges go at once, so that no call waits long for it.
    static let sweepBatch: Int64 = 500

    private let limit: Int
    private let grace: Int64
    private let insert: SQLiteStatement
    private let select: SQLiteStatement
    private let delete: SQLiteStatement
    private let deleteExpired: SQLiteStatement
    private var count: Int
    /// The moment for which nothing was left to sweep.
    private var swept: Int64?

    init(_ database: SQLiteDatabase, limits: IssuerStoreLimits) throws(SQLiteFault) {
        limit = limits.challenges
        grace = limits.challengeGrace
        insert = try database.prepare("INSERT OR IGNORE INTO challenge VALUES (?, ?, ?, ?, ?, ?)")
        // Two statements: RETURNING makes SQLite open a table for the rows, which costs more than to seek twice.
        select = try database.prepare("SELECT nonce, app_id, device_id, platform, expiry FROM challenge WHERE id = ?")
        delete = try database.prepare("DELETE FROM challenge WHERE id = ?")
        deleteExpired = try database.prepare(
            "DELETE FROM challenge WHERE id IN (SELECT id FROM challenge WHERE expiry <= ? ORDER BY expiry LIMIT ?)")
        count = try database.count("SELECT count(*) FROM challenge")
    }

    mutating func add(_ challenge: Challenge, now: Int64) throws(SQLiteFault) -> StoreFault? {
        if swept != now, try sweep(until: now.before(grace)) { swept = now }
        if count >= limit { try sweep(until: now) }
        guard count < limit else { return .challengesFull }
        let added = try insert.run(
            .text(challenge.id), .blob(challenge.nonce), .text(challenge.appID), .text(challenge.deviceID),
            .text(challenge.platform), .integer(challenge.expiry))
        guard added == 1 else { return .challengeIDTaken }
        count += 1
        return nil
    }

    /// True when nothing is left to sweep.
    @discardableResult
    private mutating func sweep(until moment: Int64) throws(SQLiteFault) -> Bool {
        let removed = try deleteExpired.run(.integer(moment), .integer(Self.sweepBatch))
        count -= removed
        return removed < Self.sweepBatch
    }

    mutating func take(_ id: String) throws(SQLiteFault) -> Challenge? {
        let found = try select.first(.text(id)) { row throws(SQLiteFault) in
            Challenge(
                id: id, nonce: row.blob(0), appID: try row.text(1), deviceID: try row.text(2),
                platform: try row.text(3), expiry: row.integer(4))
        }
        guard let found else { return nil }
        count -= try delete.run(.text(id))
        return found
    }
}
