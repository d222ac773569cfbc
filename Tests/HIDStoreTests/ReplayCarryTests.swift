// SPDX-License-Identifier: Apache-2.0
import Foundation
import Testing

@testable import HIDStore

/// Replay marks over a restart: store, file, store.
@Suite struct ReplayCarryTests {
    private static let second: UInt64 = 1_000_000_000

    private func withPath<Result>(_ body: (String) throws -> Result) throws -> Result {
        let folder = FileManager.default.temporaryDirectory.appendingPathComponent("hid-carry-\(UUID())")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        return try body(folder.appendingPathComponent("replay.table").path)
    }

    private func use(_ low: UInt64, fingerprint: UInt64 = 1, life: UInt64 = 30, grace: UInt64 = 0) -> ReplayUse {
        ReplayUse(
            key: ReplayKey(high: 9, low: low), fingerprint: fingerprint, life: life * Self.second,
            grace: grace * Self.second)
    }

    @Test func `a file that was never there is no table and no error`() throws {
        try withPath { path in
            let marks = try ReplayFile.take(from: path)
            #expect(marks == nil)
        }
    }

    @Test func `marks keep the life they had left through store, file and store`() throws {
        try withPath { path in
            let old = MemoryReplayStore()
            for key in 0..<100 { #expect(old.useOnce(use(UInt64(key)), now: 100 * Self.second) == .first) }
            try ReplayFile.write(old.save(now: 110 * Self.second), to: path)
            let new = MemoryReplayStore()
            new.load(try #require(try ReplayFile.take(from: path)), now: 7 * Self.second)
            for key in 0..<100 {
                #expect(new.useOnce(use(UInt64(key)), now: 27 * Self.second - 1) == .repeated)
            }
            for key in 0..<100 { #expect(new.useOnce(use(UInt64(key)), now: 27 * Self.second) == .first) }
        }
    }

    @Test func `a file cut at any length is damaged or not there, and gone after it was read`() throws {
        try withPath { path in
            try ReplayFile.write([.init(key: .init(high: 1, low: 2), fingerprint: 3, life: 4)], to: path)
            let whole = try Data(contentsOf: URL(fileURLWithPath: path))
            for length in 0..<whole.count {
                try whole.prefix(length).write(to: URL(fileURLWithPath: path))
                #expect(throws: ReplayFileError.damaged) { try ReplayFile.take(from: path) }
                #expect(!FileManager.default.fileExists(atPath: path))
            }
        }
    }

    @Test func `every flipped bit of every octet is damage`() throws {
        try withPath { path in
            let marks = (0..<3).map { number in
                MemoryReplayStore.SavedMark(
                    key: .init(high: .max, low: UInt64(number)), fingerprint: 0, life: 1 << UInt64(number))
            }
            try ReplayFile.write(marks, to: path)
            let whole = [UInt8](try Data(contentsOf: URL(fileURLWithPath: path)))
            #expect(try ReplayFile.parse(whole) == marks)
            for index in whole.indices {
                for bit in 0..<8 {
                    var flipped = whole
                    flipped[index] ^= 1 << UInt8(bit)
                    #expect(throws: ReplayFileError.damaged, "octet \(index), bit \(bit)") {
                        try ReplayFile.parse(flipped)
                    }
                }
            }
        }
    }

    @Test func `a table that names more marks than it holds is damaged, whatever the number`() {
        for count in [UInt64(1), 1 << 32, 1 << 58, 1 << 59, .max] {
            var bytes = Array("HIDRPL1\n".utf8)
            for shift in 0..<8 { bytes.append(UInt8(truncatingIfNeeded: count >> UInt64(8 * shift))) }
            bytes += [UInt8](repeating: 0, count: 8)
            #expect(throws: ReplayFileError.damaged) { try ReplayFile.parse(bytes) }
        }
    }

    @Test func `a smaller store loads what it can hold and refuses further tokens`() {
        let store = MemoryReplayStore(capacity: 2)
        let marks = (0..<5).map { number in
            MemoryReplayStore.SavedMark(
                key: .init(high: 9, low: UInt64(number)), fingerprint: 1, life: 30 * Self.second)
        }
        store.load(marks, now: Self.second)
        #expect(store.count == 2)
        #expect(store.useOnce(use(99), now: Self.second) == .full)
        #expect(store.useOnce(use(0), now: Self.second) == .repeated)
    }

    @Test func `a full store still knows repetitions and graces`() {
        let store = MemoryReplayStore(capacity: 1)
        #expect(store.useOnce(use(1, fingerprint: 5, grace: 3), now: 100 * Self.second) == .first)
        #expect(store.useOnce(use(2), now: 101 * Self.second) == .full)
        #expect(store.useOnce(use(1, fingerprint: 5, grace: 3), now: 101 * Self.second) == .graced)
        #expect(store.useOnce(use(1, fingerprint: 6, grace: 3), now: 101 * Self.second) == .repeated)
    }

    @Test func `what was saved at the moment it expires is not carried`() {
        let store = MemoryReplayStore()
        _ = store.useOnce(use(1, life: 10), now: 100 * Self.second)
        #expect(store.save(now: 110 * Self.second - 1).map(\.life) == [1])
        #expect(store.save(now: 110 * Self.second).isEmpty)
    }
}
