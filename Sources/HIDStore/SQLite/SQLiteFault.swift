// SPDX-License-Identifier: Apache-2.0

internal import CSQLite
internal import Glibc

/// A call of SQLite that did not succeed.
struct SQLiteFault: Error, Sendable, Equatable, CustomStringConvertible {
    /// SQLite's extended result code.
    var code: Int32
    /// The `errno` at that time; tells something of faults of input and output only.
    var systemCode: Int32 = 0
    var words: String

    var description: String { "\(words) (SQLite code \(code))" }

    /// Whether there was no room; a quota or a limit of file sizes reaches us as a failed write.
    var isFull: Bool {
        switch code & 0xFF {
        case SQLITE_FULL: true
        case SQLITE_IOERR: [ENOSPC, EDQUOT, EFBIG].contains(systemCode)
        default: false
        }
    }

    /// Whether another connection has the file.
    var isBusy: Bool { code & 0xFF == SQLITE_BUSY }

    /// What the store tells of it.
    func storeFault(_ path: String) -> StoreFault {
        isFull ? .full("\(path): no room for the registry: \(self)") : .unavailable("\(path): \(self)")
    }

    /// A row holds what this program never wrote.
    static func damaged(_ what: String) -> SQLiteFault {
        SQLiteFault(code: SQLITE_CORRUPT, words: "\(what) is damaged")
    }
}
