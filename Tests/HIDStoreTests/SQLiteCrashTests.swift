// SPDX-License-Identifier: Apache-2.0
import Foundation
import Testing

@testable import HIDStore

/// A registry whose process ends, or whose disk refuses, in the middle of its work: in processes of their own.
@Suite struct SQLiteCrashTests {
    /// Writes down what was answered, so that the next process can hold the registry to it.
    private struct Ledger: Sendable {
        let file: Int32

        init(beside path: String) {
            file = unsafe open(path + ".answered", O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0o600)
        }

        func note(_ line: String) {
            let bytes = Array((line + "\n").utf8)
            _ = unsafe write(file, bytes, bytes.count)
        }

        static func lines(beside path: String) throws -> [String] {
            let text = try String(contentsOfFile: path + ".answered", encoding: .utf8)
            return text.split(separator: "\n").map(String.init)
        }
    }

    /// Asks for everything at once, notes each answer and ends the process by a signal after `answers` of them.
    private static func workUntilKilled(_ path: String, answers: Int) async throws {
        let store = try SQLiteIssuerStore(path: path, bootID: "boot")
        let ledger = Ledger(beside: path)
        let left = Locked(answers)
        let count: @Sendable (String) -> Void = { line in
            ledger.note(line)
            left.add(-1)
            if left.value <= 0 { kill(getpid(), SIGKILL) }
        }
        for number in 0..<20_000 {
            var device = Sample.device(number, at: "device-\(number)")
            device.keyID = Array("key-\(number)".utf8)
            store.register(device, now: 100) { if case .success = $0 { count("registered \(number)") } }
            store.issue(Sample.challenge(number), now: 100) { result in
                guard case .success = result else { return }
                count("issued \(number)")
                guard number % 2 == 0 else { return }
                store.consume("challenge-\(number)", now: 100) { result in
                    if case .success(.some) = result { count("consumed \(number)") }
                }
            }
            store.deny(Sample.denial("hid-\(number)")) { if case .success = $0 { count("denied \(number)") } }
            if number % 500 == 0 { try await store.probe() }
        }
    }

    @Test(arguments: [1, 50, 700, 2_500])
    func `nothing that was answered is lost when the process is killed`(_ answers: Int) async throws {
        let folder = try StoreFixture.makeFolder()
        defer { try? FileManager.default.removeItem(atPath: folder) }
        let path = folder + "/registry.db"
        await #expect(processExitsWith: .signal(SIGKILL)) { [path = path as String, answers = answers as Int] in
            try await Self.workUntilKilled(path, answers: answers)
        }
        let lines = try Ledger.lines(beside: path)
        #expect(lines.count >= answers)
        let store = try SQLiteIssuerStore(path: path, bootID: "boot")
        defer { store.close() }
        #expect(try await store.check().isEmpty)
        try await expect(lines, in: store)
    }

    private func expect(_ lines: [String], in store: SQLiteIssuerStore) async throws {
        let denied = Set(try await store.denials(history: false, now: 100).map(\.hid))
        for line in lines {
            let words = line.split(separator: " ")
            let number = try #require(Int(words[1]))
            switch words[0] {
            case "registered":
                let expected = Sample.device(number, at: "device-\(number)")
                #expect(try await store.device("hid-\(number)")?.publicKey == expected.publicKey, "\(line)")
            case "denied": #expect(denied.contains("hid-\(number)"), "\(line)")
            case "issued" where number % 2 == 1:
                #expect(try await store.consume("challenge-\(number)", now: 100) != nil, "\(line)")
            case "consumed":
                #expect(try await store.consume("challenge-\(number)", now: 100) == nil, "\(line) comes back")
            default: break
            }
        }
    }

    /// Has the system refuse to let any file of this process grow further.
    private static func limitFiles(to size: UInt) {
        var limit = rlimit()
        unsafe getrlimit(__rlimit_resource_t(RLIMIT_FSIZE.rawValue), &limit)
        limit.rlim_cur = size
        unsafe setrlimit(__rlimit_resource_t(RLIMIT_FSIZE.rawValue), &limit)
    }

    @Test func `a write that the system refuses at commit is full for all of the transaction, and passes`() async throws
    {
        let folder = try StoreFixture.makeFolder()
        defer { try? FileManager.default.removeItem(atPath: folder) }
        await #expect(processExitsWith: .success) { [path = folder + "/registry.db" as String] in
            signal(SIGXFSZ, SIG_IGN)
            let limits = IssuerStoreLimits(challenges: 10, devices: 3_000, denials: 10, events: 10)
            let store = try SQLiteIssuerStore(path: path, limits: limits, bootID: "boot")
            Self.limitFiles(to: 512 << 10)
            let full = Locked(0)
            let kept = Locked(0)
            await withTaskGroup { group in
                for number in 0..<3_000 {
                    group.addTask {
                        do {
                            try await store.register(Sample.device(number, at: "device-\(number)"), now: 100)
                            kept.add(1)
                        } catch StoreFault.full { full.add(1) } catch { Issue.record("\(error)") }
                    }
                }
            }
            #expect(full.value > 0)
            Self.limitFiles(to: 1 << 40)
            var found = 0
            for number in 0..<3_000 where try await store.device("hid-\(number)") != nil { found += 1 }
            #expect(found == kept.value)
            for number in 0..<3_000 {
                try await store.register(Sample.device(number, at: "device-\(number)"), now: 100)
            }
            await #expect(throws: StoreFault.full("all places for device keys are taken")) {
                try await store.register(Sample.device(5_000), now: 100)
            }
            store.close()
            let second = try SQLiteIssuerStore(path: path, bootID: "boot")
            #expect(try await second.device("hid-2999") != nil)
            #expect(try await second.check().isEmpty)
            exit(full.value > 0 && found == kept.value ? 0 : 1)
        }
    }

    @Test func `relative names that SQLite reads in its own way are plain names`() async throws {
        let folder = try StoreFixture.makeFolder()
        defer { try? FileManager.default.removeItem(atPath: folder) }
        await #expect(processExitsWith: .success) { [folder = folder as String] in
            guard unsafe chdir(folder) == 0 else { exit(2) }
            for name in [":memory:", "file:x?mode=memory", "plain.db"] {
                let store = try SQLiteIssuerStore(path: name, bootID: "boot")
                try await store.register(Sample.device(1), now: 100)
                store.close()
                let size = try FileManager.default.attributesOfItem(atPath: folder + "/" + name)[.size] as? Int
                guard let size, size > 4_096 else { exit(3) }
            }
            exit(0)
        }
    }

    @Test(.enabled(if: geteuid() == 0, "needs to give up rights"))
    func `a directory or file without the right to write is told with its name`() async throws {
        let folder = try StoreFixture.makeFolder()
        defer { try? FileManager.default.removeItem(atPath: folder) }
        try SQLiteIssuerStore(path: folder + "/registry.db", bootID: "boot").close()
        await #expect(processExitsWith: .success) { [folder = folder as String] in
            guard setgid(65_534) == 0, setuid(65_534) == 0 else { exit(2) }
            for (name, words) in [("new.db", "cannot create"), ("registry.db", "unable to open")] {
                do {
                    try SQLiteIssuerStore(path: folder + "/" + name, bootID: "boot").close()
                    exit(3)
                } catch {
                    let text = "\(error)"
                    if text.contains(words), text.contains(name) { continue }
                    print(text)
                    exit(4)
                }
            }
            exit(0)
        }
    }
}
