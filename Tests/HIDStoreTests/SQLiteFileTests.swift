// SPDX-License-Identifier: Apache-2.0
import Foundation
import Testing

@testable import HIDStore

/// Files that are not right: told, and never changed.
@Suite struct SQLiteFileTests {
    @Test func `the files are for their owner alone, also one that was not`() async throws {
        try await Registries.withFolder { path in
            try Data().write(to: URL(fileURLWithPath: path))
            try FileManager.default.setAttributes([.posixPermissions: 0o666], ofItemAtPath: path)
            let store = try Registries.open(path)
            try await store.register(Sample.device(1), now: 100)
            let names = try Registries.names(beside: path)
            #expect(names == ["registry.db", "registry.db-wal"])
            for name in names {
                let attributes = try FileManager.default.attributesOfItem(
                    atPath: path.dropLast("registry.db".count) + name)
                #expect(attributes[.posixPermissions] as? Int == 0o600, "\(name)")
            }
            store.close()
        }
    }

    @Test func `a path that leads nowhere is told with its name`() async throws {
        try await Registries.withFolder { path in
            let folder = path.dropLast("/registry.db".count)
            try Data().write(to: URL(fileURLWithPath: folder + "/plain"))
            let cases = [
                (folder + "/missing/registry.db", "does not exist"), (folder + "/plain/registry.db", "cannot"),
                (String(folder), "no plain file"), ("/proc/registry.db", "does not exist"), ("", "no path"),
                (folder + "/a\0b", "no path"), ("/dev/null", "no plain file"),
            ]
            for (path, words) in cases {
                let text = Registries.fault(opening: path) ?? ""
                #expect(text.contains(words), "\(path): \(text)")
            }
            #expect(try FileManager.default.contentsOfDirectory(atPath: String(folder)) == ["plain"])
        }
    }

    @Test func `names that SQLite reads in its own way are plain names`() async throws {
        try await Registries.withFolder { path in
            for name in ["/file:x?mode=memory", "/:memory:", "/a%20b?immutable=1"] {
                let path = path.dropLast("/registry.db".count) + name
                let store = try Registries.open(String(path))
                try await store.register(Sample.device(1), now: 100)
                store.close()
                let size = try FileManager.default.attributesOfItem(atPath: String(path))[.size] as? Int
                #expect((size ?? 0) > 4_096, "\(name)")
            }
        }
    }

    @Test func `a second owner is refused while the first goes on`() async throws {
        try await Registries.withFolder { path in
            let store = try Registries.open(path)
            #expect(Registries.fault(opening: path)?.contains("another program has the registry open") == true)
            try await store.register(Sample.device(1), now: 100)
            store.close()
            #expect(Registries.fault(opening: path) == nil)
        }
    }

    @Test func `a registry of a newer schema is refused and stays as it is`() async throws {
        try await Registries.withFolder { path in
            try Registries.open(path).close()
            do {
                let database = try SQLiteDatabase(path: path, waitMilliseconds: 0)
                try database.execute("PRAGMA user_version = 2")
            }
            let before = FileManager.default.contents(atPath: path)
            #expect(Registries.fault(opening: path)?.contains("schema version 2, this program knows up to 1") == true)
            #expect(FileManager.default.contents(atPath: path) == before)
        }
    }

    @Test(arguments: [
        "CREATE TABLE mine (x)", "PRAGMA user_version = 1", "PRAGMA application_id = 7; CREATE TABLE t (x)",
    ])
    func `a database of another program is refused and stays as it is`(_ script: String) async throws {
        try await Registries.withFolder { path in
            try Data().write(to: URL(fileURLWithPath: path))
            do { try SQLiteDatabase(path: path, waitMilliseconds: 0).execute(script) }
            let before = FileManager.default.contents(atPath: path)
            #expect(Registries.fault(opening: path)?.contains("another program") == true)
            #expect(FileManager.default.contents(atPath: path) == before)
        }
    }

    @Test func `a file of anything else is refused and stays as it is`() async throws {
        try await Registries.withFolder { path in
            for bytes in [[UInt8](repeating: 0x41, count: 5_000), Array("SQLite format 3\0".utf8) + [1, 2, 3], [0]] {
                try Data(bytes).write(to: URL(fileURLWithPath: path))
                #expect(Registries.fault(opening: path) != nil)
                #expect(FileManager.default.contents(atPath: path) == Data(bytes))
            }
        }
    }

    @Test func `a registry that was cut is refused, whatever is left stays`() async throws {
        try await Registries.withFolder { path in
            let store = try Registries.open(path)
            try await Registries.fill(store)
            store.close()
            let whole = try #require(FileManager.default.contents(atPath: path))
            for length in stride(from: 100, to: whole.count - 4_096, by: 2_048) {
                try whole.prefix(length).write(to: URL(fileURLWithPath: path))
                #expect(Registries.fault(opening: path) != nil, "\(length) of \(whole.count)")
                #expect(FileManager.default.contents(atPath: path) == whole.prefix(length))
            }
        }
    }

    @Test func `octets changed anywhere are a fault or unseen, never the end of the process`() async throws {
        try await Registries.withFolder { path in
            let store = try Registries.open(path)
            try await Registries.fill(store)
            store.close()
            let whole = try #require(FileManager.default.contents(atPath: path))
            var refused = 0
            for _ in 0..<50 {
                var bytes = whole
                for _ in 0..<Int.random(in: 1...40) { bytes[Int.random(in: 0..<bytes.count)] = .random(in: 0...255) }
                try bytes.write(to: URL(fileURLWithPath: path))
                guard let damaged = try? Registries.open(path) else {
                    refused += 1
                    continue
                }
                await useAll(damaged)
                damaged.close()
                try? FileManager.default.removeItem(atPath: path + "-wal")
            }
            #expect(refused < 50)
        }
    }

    /// Calls every verb; the answers do not matter.
    private func useAll(_ store: SQLiteIssuerStore) async {
        for number in 0..<20 {
            _ = try? await store.consume("challenge-\(number)", now: 100)
            _ = try? await store.device("hid-\(number)")
            _ = try? await store.register(Sample.device(number + 1), now: 100)
            _ = try? await store.advance(keyID: [UInt8(number)], to: 10)
        }
        _ = try? await store.issue(Sample.challenge(99), now: 1_000)
        _ = try? await store.block(serials: ["serial-a3": "revoked"])
        _ = try? await store.denials(history: true, now: 100)
        _ = try? await store.deny(Sample.denial("hid-1"))
        _ = try? await store.registrations(ofBatch: "batch-1", since: 0)
        store.record(Sample.event(1))
        _ = try? await store.events(hid: "hid-1")
        _ = try? await store.events()
        _ = try? await store.probe()
        _ = try? await store.check()
    }

    @Test func `numbers at the ends of their range in a file are survived`() async throws {
        try await Registries.withFolder { path in
            let store = try Registries.open(path)
            try await Registries.fill(store)
            store.close()
            do {
                let database = try SQLiteDatabase(path: path, waitMilliseconds: 0)
                for (from, to) in [(1, Int64.min), (2, .max)] {
                    for table in ["event", "denial"] {
                        try database.execute("UPDATE \(table) SET id = \(to) WHERE id = \(from)")
                    }
                }
                try database.execute(
                    """
                    UPDATE device SET rowid = \(Int64.max), counter = -1, registered = \(Int64.min), retired = \(Int64.max)
                    WHERE hid = 'hid-3'; UPDATE challenge SET expiry = \(Int64.min) WHERE id = 'challenge-3';
                    UPDATE event SET time = \(Int64.min) WHERE id = 3; UPDATE denial SET until = \(Int64.min) WHERE id = 3
                    """)
            }
            let second = try Registries.open(path)
            await #expect(throws: StoreFault.self) { try await second.device("hid-3") }
            await useAll(second)
            #expect(try await second.device("hid-4")?.hid == "hid-4")
            second.close()
        }
    }

    @Test func `a check finds a page that was overwritten`() async throws {
        try await Registries.withFolder { path in
            let store = try Registries.open(path)
            for number in 0..<500 { _ = try await store.issue(Sample.challenge(number), now: 100) }
            #expect(try await store.check().isEmpty)
            store.close()
            var bytes = try #require(FileManager.default.contents(atPath: path))
            let last = bytes.count - 4_096
            bytes.replaceSubrange(last..<bytes.count, with: [UInt8](repeating: 0x5A, count: 4_096))
            try bytes.write(to: URL(fileURLWithPath: path))
            let damaged = try Registries.open(path)
            let faults = (try? await damaged.check()) ?? ["refused"]
            #expect(!faults.isEmpty)
            damaged.close()
        }
    }
}
