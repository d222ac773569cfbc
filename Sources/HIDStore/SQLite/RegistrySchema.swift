// SPDX-License-Identifier: Apache-2.0

/// The tables of a registry and how older ones become newer ones.
enum RegistrySchema {
    /// Marks the file as ours: `HIDr` in SQLite's application_id.
    static let applicationID: Int64 = 0x4849_4472

    /// Step n leads from version n to n + 1; a step that was ever released is never changed.
    static let steps = [tables]

    /// The version that this program reads and writes.
    static var version: Int64 { Int64(steps.count) }

    /// Brings a database to `version`; all steps or none.
    ///
    /// Throws `StoreFault` for a file of another program or of a newer version, which stays as it is, and `SQLiteFault`.
    static func migrate(_ database: SQLiteDatabase) throws {
        let found = try database.number("PRAGMA user_version")
        let isOurs = try database.number("PRAGMA application_id") == applicationID
        let isEmpty = try database.number("SELECT count(*) FROM sqlite_schema") == 0
        guard isOurs || isEmpty && found == 0 else {
            throw StoreFault.unavailable("the file is a database of another program")
        }
        guard found <= version, found >= 0 else {
            throw StoreFault.unavailable(
                "the registry has schema version \(found), this program knows up to \(version): "
                    + "start the newer program or restore an older registry")
        }
        guard found < version else { return }
        var script = "BEGIN IMMEDIATE; PRAGMA application_id = \(applicationID);"
        for step in steps[Int(found)...] { script += step }
        try database.execute(script + "PRAGMA user_version = \(version); COMMIT")
    }

    /// Version 1.
    private static let tables = """
        CREATE TABLE meta (name TEXT PRIMARY KEY, value ANY NOT NULL) STRICT, WITHOUT ROWID;
        CREATE TABLE challenge (
            id TEXT PRIMARY KEY, nonce BLOB NOT NULL, app_id TEXT NOT NULL, device_id TEXT NOT NULL,
            platform TEXT NOT NULL, expiry INTEGER NOT NULL) STRICT, WITHOUT ROWID;
        CREATE INDEX challenge_expiry ON challenge (expiry);
        CREATE TABLE device (
            hid TEXT PRIMARY KEY, app_id TEXT NOT NULL, device_id TEXT NOT NULL, platform TEXT NOT NULL,
            public_key BLOB NOT NULL, level TEXT NOT NULL, environment TEXT NOT NULL, tier TEXT NOT NULL,
            blocked TEXT, batch_id TEXT, key_id BLOB, assertion_key BLOB, counter INTEGER NOT NULL,
            facts TEXT NOT NULL, registered INTEGER NOT NULL, retired INTEGER) STRICT;
        CREATE UNIQUE INDEX device_in_force ON device (app_id, device_id) WHERE retired IS NULL;
        CREATE INDEX device_batch ON device (batch_id, registered) WHERE batch_id IS NOT NULL;
        CREATE TABLE attested_key (key_id BLOB PRIMARY KEY, hid TEXT NOT NULL) STRICT, WITHOUT ROWID;
        CREATE TABLE serial (
            hid TEXT NOT NULL, position INTEGER NOT NULL, serial TEXT NOT NULL,
            PRIMARY KEY (hid, position)) STRICT, WITHOUT ROWID;
        CREATE INDEX serial_value ON serial (serial);
        CREATE TABLE denial (
            id INTEGER PRIMARY KEY, hid TEXT NOT NULL, until INTEGER, reason TEXT NOT NULL, author TEXT NOT NULL,
            created INTEGER NOT NULL, lifted INTEGER, lift_reason TEXT) STRICT;
        CREATE INDEX denial_open ON denial (hid) WHERE lifted IS NULL;
        CREATE TABLE event (
            id INTEGER PRIMARY KEY, time INTEGER NOT NULL, kind TEXT NOT NULL, app_id TEXT NOT NULL,
            device_id TEXT NOT NULL, platform TEXT NOT NULL, hid TEXT, reason TEXT, request_id TEXT) STRICT;
        CREATE INDEX event_hid ON event (hid) WHERE hid IS NOT NULL;

        """
}
