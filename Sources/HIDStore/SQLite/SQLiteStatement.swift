// SPDX-License-Identifier: Apache-2.0

internal import CSQLite
internal import Glibc

/// A value for a parameter of a statement.
enum SQLiteValue {
    case null
    case integer(Int64)
    case text(String)
    case blob([UInt8])

    /// NULL for nil.
    init(_ text: String?) {
        self = text.map { .text($0) } ?? .null
    }

    init(_ integer: Int64?) {
        self = integer.map { .integer($0) } ?? .null
    }

    init(_ octets: [UInt8]?) {
        self = octets.map { .blob($0) } ?? .null
    }
}

/// A compiled statement, used again and again; confined like its connection.
@safe final class SQLiteStatement {
    private let handle: OpaquePointer  // sqlite3_stmt, owned: finalised in deinit
    private let database: SQLiteDatabase  // outlives the statement
    private let parameters: Int

    init(adopting handle: OpaquePointer, of database: SQLiteDatabase) {
        unsafe self.handle = handle
        self.database = database
        parameters = unsafe Int(sqlite3_bind_parameter_count(handle))
    }

    deinit {
        unsafe sqlite3_finalize(handle)
    }

    /// Runs the statement to its end and tells how many rows it changed.
    ///
    /// The number means nothing for statements other than INSERT, UPDATE and DELETE.
    @discardableResult
    func run(_ values: SQLiteValue...) throws(SQLiteFault) -> Int {
        try read(values, atMost: .max) { _ throws(SQLiteFault) in }
        return unsafe Int(sqlite3_changes(sqlite3_db_handle(handle)))
    }

    /// What `body` makes of the first row; nil when there is none.
    func first<Value>(
        _ values: SQLiteValue..., body: (borrowing SQLiteRow) throws(SQLiteFault) -> Value
    ) throws(SQLiteFault) -> Value? {
        var found: Value?
        try read(values, atMost: 1) { row throws(SQLiteFault) in found = try body(row) }
        return found
    }

    /// What `body` makes of every row.
    func all<Value>(
        _ values: SQLiteValue..., body: (borrowing SQLiteRow) throws(SQLiteFault) -> Value
    ) throws(SQLiteFault) -> [Value] {
        var found: [Value] = []
        try read(values, atMost: .max) { row throws(SQLiteFault) in found.append(try body(row)) }
        return found
    }

    private func read(
        _ values: [SQLiteValue], atMost limit: Int, body: (borrowing SQLiteRow) throws(SQLiteFault) -> Void
    ) throws(SQLiteFault) {
        do {
            try bind(values)
            var count = 0
            while count < limit, try step() {
                try body(unsafe SQLiteRow(handle))
                count += 1
            }
        } catch {
            // Its code repeats that of the step which failed.
            unsafe sqlite3_reset(handle)
            throw error
        }
        guard unsafe sqlite3_reset(handle) == SQLITE_OK else { throw database.fault(doing: "reset") }
    }

    /// Goes to the next row; false at the end.
    private func step() throws(SQLiteFault) -> Bool {
        errno = 0
        switch unsafe sqlite3_step(handle) {
        case SQLITE_ROW: return true
        case SQLITE_DONE: return false
        default: throw database.fault(doing: verb)
        }
    }

    /// The first word of the statement's text.
    private var verb: String {
        let text = unsafe sqlite3_sql(handle).map { unsafe String(cString: $0) } ?? ""
        return text.split(separator: " ").first.map { String($0).lowercased() } ?? "step"
    }

    private func bind(_ values: [SQLiteValue]) throws(SQLiteFault) {
        guard values.count == parameters else {
            throw SQLiteFault(code: SQLITE_MISUSE, words: "\(verb): \(values.count) values, \(parameters) wanted")
        }
        var index: Int32 = 0
        for value in values {
            index += 1
            guard bind(value, at: index) == SQLITE_OK else { throw database.fault(doing: "bind") }
        }
    }

    private func bind(_ value: SQLiteValue, at index: Int32) -> Int32 {
        switch value {
        case .null: return unsafe sqlite3_bind_null(handle, index)
        case .integer(let number): return unsafe sqlite3_bind_int64(handle, index, number)
        case .text(var text):
            return text.withUTF8 { octets in
                guard let count = Int32(exactly: octets.count) else { return SQLITE_TOOBIG }
                // A nil address would bind NULL.
                guard let start = octets.baseAddress else { return unsafe hid_sqlite_bind_text(handle, index, "", 0) }
                return unsafe start.withMemoryRebound(to: CChar.self, capacity: octets.count) { chars in
                    unsafe hid_sqlite_bind_text(handle, index, chars, count)
                }
            }
        case .blob(let octets):
            guard let count = Int32(exactly: octets.count) else { return SQLITE_TOOBIG }
            guard count > 0 else { return unsafe sqlite3_bind_zeroblob(handle, index, 0) }
            return unsafe octets.withUnsafeBytes { bytes in
                unsafe hid_sqlite_bind_blob(handle, index, bytes.baseAddress, count)
            }
        }
    }
}

/// The row that a statement stands on, for use within the closure that gets it.
@safe struct SQLiteRow: ~Copyable {
    private let handle: OpaquePointer  // sqlite3_stmt, borrowed

    init(_ handle: OpaquePointer) {
        unsafe self.handle = handle
    }

    /// 0 for NULL and for what is no number.
    func integer(_ column: Int32) -> Int64 {
        unsafe sqlite3_column_int64(handle, column)
    }

    func optionalInteger(_ column: Int32) -> Int64? {
        isNull(column) ? nil : integer(column)
    }

    func text(_ column: Int32) throws(SQLiteFault) -> String {
        guard let text = try optionalText(column) else { throw .damaged("a text in the registry") }
        return text
    }

    /// Octets that are no UTF-8 are repaired.
    func optionalText(_ column: Int32) throws(SQLiteFault) -> String? {
        guard !isNull(column) else { return nil }
        guard let start = unsafe sqlite3_column_text(handle, column) else {
            throw SQLiteFault(code: SQLITE_NOMEM, words: "out of memory")
        }
        // The count is asked for after the text, which may convert.
        let count = unsafe Int(sqlite3_column_bytes(handle, column))
        return unsafe String(decoding: UnsafeBufferPointer(start: start, count: count), as: UTF8.self)
    }

    /// Empty for NULL.
    func blob(_ column: Int32) -> [UInt8] {
        guard let start = unsafe sqlite3_column_blob(handle, column) else { return [] }
        let count = unsafe Int(sqlite3_column_bytes(handle, column))
        return unsafe [UInt8](UnsafeRawBufferPointer(start: start, count: count))
    }

    func optionalBlob(_ column: Int32) -> [UInt8]? {
        isNull(column) ? nil : blob(column)
    }

    private func isNull(_ column: Int32) -> Bool {
        unsafe sqlite3_column_type(handle, column) == SQLITE_NULL
    }
}
