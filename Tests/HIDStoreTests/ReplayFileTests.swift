// SPDX-License-Identifier: Apache-2.0
import Foundation
import Testing

@testable import HIDStore

@Suite struct ReplayFileTests {
    private let marks = (0..<5).map { number in
        MemoryReplayStore.SavedMark(
            key: .init(high: UInt64(number) << 60 | 3, low: .max - UInt64(number)), fingerprint: UInt64(number) * 77,
            life: 1_000_000_000 + UInt64(number))
    }

    private func withPath<Result>(_ body: (String) throws -> Result) throws -> Result {
        let folder = FileManager.default.temporaryDirectory.appendingPathComponent("hid-replay-\(UUID())")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        return try body(folder.appendingPathComponent("replay.table").path)
    }

    @Test func `what is written comes back once, and is gone then`() throws {
        try withPath { path in
            try ReplayFile.write(marks, to: path)
            #expect(try ReplayFile.take(from: path) == marks)
            #expect(try ReplayFile.take(from: path) == nil)
        }
    }

    @Test func `an empty table is a table`() throws {
        try withPath { path in
            try ReplayFile.write([], to: path)
            #expect(try ReplayFile.take(from: path) == [])
        }
    }

    @Test func `the file is for its owner alone and replaces an older one`() throws {
        try withPath { path in
            try ReplayFile.write(marks, to: path)
            try ReplayFile.write([marks[0]], to: path)
            let mode = try FileManager.default.attributesOfItem(atPath: path)[.posixPermissions] as? Int
            #expect(mode == 0o600)
            #expect(try ReplayFile.take(from: path) == [marks[0]])
        }
    }

    @Test func `a table cut anywhere or with one flipped octet is damaged, and gone`() throws {
        try withPath { path in
            try ReplayFile.write(marks, to: path)
            let whole = [UInt8](try Data(contentsOf: URL(fileURLWithPath: path)))
            for length in 0..<whole.count {
                #expect(throws: ReplayFileError.damaged) { try ReplayFile.parse(Array(whole[..<length])) }
            }
            for index in whole.indices {
                var flipped = whole
                flipped[index] ^= 0x10
                #expect(throws: ReplayFileError.damaged) { try ReplayFile.parse(flipped) }
            }
            try Data(whole.dropLast()).write(to: URL(fileURLWithPath: path))
            #expect(throws: ReplayFileError.damaged) { try ReplayFile.take(from: path) }
            #expect(try ReplayFile.take(from: path) == nil)
        }
    }

    @Test func `a folder that is not there is an error with the call and the path`() throws {
        try withPath { path in
            let missing = path + "/x/replay.table"
            let error = #expect(throws: ReplayFileError.self) { try ReplayFile.write(marks, to: missing) }
            #expect(error?.description.contains(missing) == true)
        }
    }
}
