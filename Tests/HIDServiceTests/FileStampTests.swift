// SPDX-License-Identifier: Apache-2.0
import Foundation
import HIDTesting
import Testing

@testable import HIDService

@Suite struct FileStampTests {
    private let folder: ConfigurationFolder
    private let path: String

    init() throws {
        folder = try ConfigurationFolder(["file": "one"])
        path = "\(folder.path)/file"
    }

    private func setDate(_ seconds: Double) throws {
        try FileManager.default.setAttributes(
            [.modificationDate: Date(timeIntervalSince1970: seconds)], ofItemAtPath: path)
    }

    @Test func `a stamp holds while a file does, and changes with time, length and place`() throws {
        try setDate(1_800_000_000)
        let stamp = try #require(FileSystem.stamp(path))
        #expect((stamp.seconds, stamp.nanoseconds, stamp.size) == (1_800_000_000, 0, 3))
        #expect(FileSystem.stamp(path) == stamp)
        try setDate(1_800_000_000.5)
        #expect(FileSystem.stamp(path)?.nanoseconds == 500_000_000)
        try FileSystem.replace(path, with: Array("two".utf8), mode: 0o600)
        try setDate(1_800_000_000)
        #expect(FileSystem.stamp(path) != stamp)
        #expect(FileSystem.stamp(path)?.size == 3)
        #expect(FileSystem.stamp(path + "x") == nil)
    }

    @Test func `a touched file is new and as it was`() throws {
        try setDate(1_000_000_000)
        try FileSystem.touch(path)
        let seconds = try #require(FileSystem.stamp(path)).seconds
        #expect(seconds >= Int64(Date().timeIntervalSince1970) - 60)
        #expect(try FileSystem.contents(of: path, limit: 10) == Array("one".utf8))
        #expect(throws: SystemFault(code: SystemFault.notFound)) { try FileSystem.touch(path + "x") }
    }
}
