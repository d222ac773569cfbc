// SPDX-License-Identifier: Apache-2.0

internal import CSQLite
internal import Glibc

/// A connection to a database file.
///
/// Confined by its owner to one queue or thread at a time: SQLite's own locks are switched off.
@safe final class SQLiteDatabase {
    private let handle: OpaquePointer  // sqlite3, owned: closed in deinit

    /// Opens a file that exists already.
    ///
    /// - Parameters:
    ///   - path: as the system calls take it; no URI.
    ///   - waitMilliseconds: how long to wait for a lock that another connection holds.
    /// - Throws: SQLite's words.
    init(path: String, waitMilliseconds: Int32) throws(SQLiteFault) {
        guard sqlite3_threadsafe() != 0 else {
            throw SQLiteFault(code: SQLITE_MISUSE, words: "this SQLite is built for a single thread")
        }
        // SQLite takes names that begin with `file:` or a colon for something else.
        let name = path.utf8.first == UInt8(ascii: "/") ? path : "./" + path
        let flags = SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_EXRESCODE | SQLITE_OPEN_PRIVATECACHE
        var opened: OpaquePointer?
        let code = unsafe sqlite3_open_v2(name, &opened, flags, nil)
        guard let opened = unsafe opened else { throw SQLiteFault(code: SQLITE_NOMEM, words: "out of memory") }
        guard code == SQLITE_OK else {
            let fault = unsafe Self.fault(of: opened, doing: "open")
            unsafe sqlite3_close_v2(opened)
            throw fault
        }
        unsafe handle = opened
        guard unsafe sqlite3_db_readonly(handle, "main") == 0 else {
            throw SQLiteFault(code: SQLITE_READONLY, words: "open: no right to write the file")
        }
        guard unsafe sqlite3_busy_timeout(handle, waitMilliseconds) == SQLITE_OK else { throw fault(doing: "open") }
    }

    deinit {
        // Statements keep their connection, so none is left; if one were, this waits for it.
        unsafe sqlite3_close_v2(handle)
    }

    /// Whether BEGIN was run and neither COMMIT nor ROLLBACK, nor a fault that rolled back by itself.
    var isInTransaction: Bool { unsafe sqlite3_get_autocommit(handle) == 0 }

    /// Runs statements that have no parameters and whose rows do not matter.
    func execute(_ script: String) throws(SQLiteFault) {
        errno = 0
        guard unsafe sqlite3_exec(handle, script, nil, nil, nil) == SQLITE_OK else {
            throw fault(doing: String(script.prefix(40)))
        }
    }

    /// Compiles one statement that will be used often.
    func prepare(_ text: String) throws(SQLiteFault) -> SQLiteStatement {
        var statement: OpaquePointer?
        let code = unsafe sqlite3_prepare_v3(handle, text, -1, UInt32(SQLITE_PREPARE_PERSISTENT), &statement, nil)
        guard code == SQLITE_OK, let statement = unsafe statement else { throw fault(doing: "prepare") }
        return unsafe SQLiteStatement(adopting: statement, of: self)
    }

    /// The first column of the first row, as a number.
    func number(_ text: String) throws(SQLiteFault) -> Int64 {
        try prepare(text).first { row throws(SQLiteFault) in row.integer(0) } ?? 0
    }

    /// The same as a count, held to what can be reckoned with, whatever a damaged file says.
    func count(_ text: String) throws(SQLiteFault) -> Int {
        Int(min(max(try number(text), 0), 1 << 40))
    }

    /// The last fault of this connection, with SQLite's words.
    func fault(doing action: String) -> SQLiteFault {
        unsafe Self.fault(of: handle, doing: action)
    }

    private static func fault(of handle: OpaquePointer, doing action: String) -> SQLiteFault {
        let code = errno
        let words = unsafe sqlite3_errmsg(handle).map { unsafe String(cString: $0) } ?? "no details"
        // SQLite keeps the system's code itself, but not that of a failed commit.
        return SQLiteFault(
            code: unsafe sqlite3_extended_errcode(handle), systemCode: code, words: "\(action): \(words)")
    }
}
