// SPDX-License-Identifier: Apache-2.0

/// A number that only grows; any thread may add.
package final class Counter: Sendable {
    private let cells: AtomicCells

    init(shards: Int) {
        cells = AtomicCells(rows: shards, columns: 1)
    }

    /// Adds in the cells of a shard: the index of the calling event loop, 0 for everybody else.
    package func add(_ amount: Int = 1, shard: Int = 0) {
        cells.add(amount, row: shard, column: 0)
    }

    package var value: Int { cells.sum(column: 0) }
}

/// Counters of one name over a closed set of label values.
package final class CounterFamily: Sendable {
    /// The label values in the order of their indices.
    package let values: [String]
    private let counters: [Counter]

    init(values: [String], counters: [Counter]) {
        self.values = values
        self.counters = counters
    }

    /// The counter of the label value with that index.
    ///
    /// - Precondition: the index is one of `values`.
    package subscript(index: Int) -> Counter { counters[index] }

    /// The counter of a label value; nil when it is not in the set.
    package subscript(value: String) -> Counter? {
        values.firstIndex(of: value).map { counters[$0] }
    }
}

/// A number that goes up and down; any thread may change it.
package final class Gauge: Sendable {
    private let cells: AtomicCells

    init(shards: Int) {
        cells = AtomicCells(rows: shards, columns: 1)
    }

    /// Adds in the cells of a shard: the index of the calling event loop, 0 for everybody else.
    package func add(_ amount: Int, shard: Int = 0) {
        cells.add(amount, row: shard, column: 0)
    }

    /// Sets the part of shard 0: for gauges that nobody adds to from other shards.
    package func set(_ value: Int) {
        cells.store(value, column: 0)
    }

    package var value: Int { cells.sum(column: 0) }
}

/// How many observations fell below each of some bounds; any thread may observe.
package final class Histogram: Sendable {
    /// Upper bounds, inclusive, in raw units.
    let bounds: [Int]
    /// Raw units in one unit of the exposition.
    let scale: Int
    /// A column for each bound, one beyond the last, and the sum.
    private let cells: AtomicCells

    init(bounds: [Int], scale: Int, shards: Int) {
        self.bounds = bounds
        self.scale = scale
        cells = AtomicCells(rows: shards, columns: bounds.count + 2)
    }

    /// Counts a value in raw units: nanoseconds for a histogram of times.
    ///
    /// The shard is the index of the calling event loop, 0 for everybody else.
    package func observe(_ value: Int, shard: Int = 0) {
        var column = 0
        while column < bounds.count, value > bounds[column] { column += 1 }
        cells.add(1, row: shard, column: column)
        cells.add(value, row: shard, column: bounds.count + 1)
    }

    /// Counts by bucket, not cumulative; the last is beyond all bounds.
    package var counts: [Int] { (0...bounds.count).map(cells.sum) }
    /// In raw units.
    package var sum: Int { cells.sum(column: bounds.count + 1) }
}
