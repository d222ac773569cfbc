// SPDX-License-Identifier: Apache-2.0

/// The denials of a registry on disk.
struct DenialRows {
    private static let columns = "hid, until, reason, author, created, lifted, lift_reason"
    private static let inForce = "lifted IS NULL AND (until IS NULL OR until > ?)"

    private let limit: Int
    private let insert: SQLiteStatement
    private let selectInForce: SQLiteStatement
    private let listInForce: SQLiteStatement
    private let listAll: SQLiteStatement
    private let liftInForce: SQLiteStatement
    private let deleteOldest: SQLiteStatement
    private var count: Int

    init(_ database: SQLiteDatabase, limits: IssuerStoreLimits) throws(SQLiteFault) {
        limit = limits.denials
        let (columns, inForce) = (Self.columns, Self.inForce)
        insert = try database.prepare(
            "INSERT INTO denial (hid, until, reason, author, created) VALUES (?, ?, ?, ?, ?)")
        selectInForce = try database.prepare(
            "SELECT \(columns) FROM denial WHERE hid = ? AND \(inForce) ORDER BY id DESC LIMIT 1")
        listInForce = try database.prepare("SELECT \(columns) FROM denial WHERE \(inForce) ORDER BY id DESC")
        listAll = try database.prepare("SELECT \(columns) FROM denial ORDER BY id DESC")
        liftInForce = try database.prepare(
            "UPDATE denial SET lifted = ?, lift_reason = ? WHERE hid = ? AND \(inForce)")
        deleteOldest = try database.prepare(
            "DELETE FROM denial WHERE id = (SELECT id FROM denial WHERE NOT (\(inForce)) ORDER BY id LIMIT 1)")
        count = try database.count("SELECT count(*) FROM denial")
    }

    func inForce(_ hid: String, now: Int64) throws(SQLiteFault) -> Denial? {
        try selectInForce.first(.text(hid), .integer(now), body: Self.denial)
    }

    func list(history: Bool, now: Int64) throws(SQLiteFault) -> [Denial] {
        history ? try listAll.all(body: Self.denial) : try listInForce.all(.integer(now), body: Self.denial)
    }

    mutating func deny(_ denial: Denial) throws(SQLiteFault) -> StoreFault? {
        try lift(denial.hid, reason: Denial.replaced, now: denial.created)
        // When one was lifted here it is the one that goes, if no other can, so that a refusal has changed nothing.
        if count >= limit { count -= try deleteOldest.run(.integer(denial.created)) }
        guard count < limit else { return .denialsFull }
        try insert.run(
            .text(denial.hid), SQLiteValue(denial.until), .text(denial.reason), .text(denial.by),
            .integer(denial.created))
        count += 1
        return nil
    }

    /// Lifts what is in force against a hid; false when there is nothing.
    @discardableResult
    func lift(_ hid: String, reason: String, now: Int64) throws(SQLiteFault) -> Bool {
        try liftInForce.run(.integer(now), .text(reason), .text(hid), .integer(now)) > 0
    }

    private static func denial(_ row: borrowing SQLiteRow) throws(SQLiteFault) -> Denial {
        var denial = Denial(
            hid: try row.text(0), until: row.optionalInteger(1), reason: try row.text(2), by: try row.text(3),
            created: row.integer(4))
        denial.lifted = row.optionalInteger(5)
        denial.liftReason = try row.optionalText(6)
        return denial
    }
}
