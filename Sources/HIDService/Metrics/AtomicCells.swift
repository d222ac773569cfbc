// SPDX-License-Identifier: Apache-2.0
import Synchronization

/// Atomic integers in rows, one row for each event loop, so that loops do not share cache lines.
@safe final class AtomicCells: @unchecked Sendable {
    /// Owned; `rows * stride` initialized cells.
    private let cells: UnsafeMutablePointer<Atomic<Int>>
    private let rows: Int
    private let columns: Int
    /// Cells from row to row: at least two cache lines, since a row need not start at the start of one.
    private let stride: Int

    /// - Precondition: at least one row and one column.
    init(rows: Int, columns: Int) {
        precondition(rows > 0 && columns > 0)
        self.rows = rows
        self.columns = columns
        stride = rows == 1 ? columns : (columns + 7) / 8 * 8 + 8
        unsafe cells = .allocate(capacity: rows * stride)
        for index in 0..<(rows * stride) {
            unsafe (cells + index).initialize(to: Atomic(0))
        }
    }

    deinit {
        unsafe cells.deinitialize(count: rows * stride)
        unsafe cells.deallocate()
    }

    /// A row that does not exist counts as row 0.
    func add(_ amount: Int, row: Int, column: Int) {
        precondition((0..<columns).contains(column))
        let row = row >= 0 && row < rows ? row : 0
        unsafe cells[row * stride + column].wrappingAdd(amount, ordering: .relaxed)
    }

    func store(_ value: Int, column: Int) {
        precondition((0..<columns).contains(column))
        unsafe cells[column].store(value, ordering: .relaxed)
    }

    /// The sum over all rows.
    func sum(column: Int) -> Int {
        precondition((0..<columns).contains(column))
        return (0..<rows).reduce(0) { total, row in
            total &+ (unsafe cells[row * stride + column].load(ordering: .relaxed))
        }
    }
}
