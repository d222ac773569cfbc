// SPDX-License-Identifier: Apache-2.0
import Foundation
import HIDCrypto
import HIDService
import HIDTesting
import Testing

@testable import HIDIssuer

/// Keys on disk.
@Suite(.timeLimit(.minutes(10))) struct KeyDirectoryTests {
    private static let start = ManualClock.start
    private let folder: ConfigurationFolder
    private let path: String
    private let log = MemoryLog()

    init() throws {
        folder = try ConfigurationFolder()
        path = "\(folder.path)/keys"
    }

    private func open(at now: Int64 = start) throws -> SigningKeys {
        try SigningKeys(directory: KeyDirectory(path: path), log: Log(sink: .memory(log)), now: now)
    }

    private func fault(at now: Int64 = start) -> String? {
        do {
            _ = try open(at: now)
            return nil
        } catch {
            return folder.removingFolder("\(error)")
        }
    }

    private func mode(_ name: String) throws -> Int {
        let attributes = try FileManager.default.attributesOfItem(atPath: name)
        return try #require(attributes[.posixPermissions] as? NSNumber).intValue
    }

    private func names() throws -> [String] { try FileManager.default.contentsOfDirectory(atPath: path).sorted() }

    private func put(_ name: String, _ text: [UInt8], mode: Int = 0o600) throws {
        try? FileManager.default.createDirectory(
            atPath: path, withIntermediateDirectories: false, attributes: [.posixPermissions: 0o700])
        try folder.write("keys/\(name)", text)
        try FileManager.default.setAttributes([.posixPermissions: mode], ofItemAtPath: "\(path)/\(name)")
    }

    /// A key of P-384 (RFC 5915 section 3).
    private static let otherCurve = DERWriter.sequence(
        DERWriter.integer(1), DERWriter.octetString([UInt8](repeating: 7, count: 48)),
        DERWriter.explicit(0, DERWriter.oid("1.3.132.0.34")))

    // MARK: - A directory of our own

    @Test func `the first start makes a directory and files that nobody else can read`() throws {
        let keys = try open()
        #expect(try mode(path) == 0o700)
        let files = try names()
        #expect(files.count == 3)
        #expect(files.contains("ring.json"))
        for key in keys.published(at: Self.start) { #expect(files.contains("\(key.kid).pem")) }
        for file in files { #expect(try mode("\(path)/\(file)") == 0o600) }
    }

    @Test func `a restart keeps keys and schedule, in the middle of a rotation as well`() throws {
        let keys = try open()
        let before = keys.published(at: Self.start)
        #expect(try open(at: Self.start + 5).published(at: Self.start + 5).map(\.kid) == before.map(\.kid))
        let rotation = try keys.rotate(overlap: 600, now: Self.start + 10)
        let during = keys.published(at: Self.start + 20)
        let restarted = try open(at: Self.start + 20)
        let again = restarted.published(at: Self.start + 20)
        #expect(again.map(\.kid) == during.map(\.kid))
        #expect(again.map(\.activates) == during.map(\.activates))
        #expect(again.map(\.retires) == during.map(\.retires))
        #expect(restarted.current(at: Self.start + 599)?.kid == before[0].kid)
        #expect(restarted.current(at: Self.start + 600)?.kid == rotation.kid)
        let later = Self.start + 600 + SigningKeys.linger
        _ = try open(at: later)
        #expect(try !names().contains("\(before[0].kid).pem"))
        #expect(try names().count == 3)
    }

    @Test func `a retired key's file goes with it`() throws {
        let keys = try open()
        let old = try #require(keys.current(at: Self.start)?.kid)
        let moment = try keys.rotate(overlap: 0, now: Self.start).activates
        keys.maintain(now: moment + SigningKeys.linger - 1)
        #expect(try names().contains("\(old).pem"))
        keys.maintain(now: moment + SigningKeys.linger)
        #expect(try !names().contains("\(old).pem"))
    }

    @Test(arguments: [
        "", "{", "null", "[]", "{}", #"{"keys":{}}"#, #"{"keys":[{}]}"#, #"{"keys":[7]}"#,
        #"{"keys":[{"kid":"a","activates":"now"}]}"#, #"{"keys":[{"kid":"a","activates":1.5}]}"#,
        #"{"keys":[{"kid":7}]}"#, #"{"keys":[],"keys":[]}"#, #"{"keys":[{"kid":"a","retires":null}]}"#,
    ])
    func `a damaged schedule stops the start and says what to do, and no key is touched`(text: String) throws {
        _ = try open()
        let files = try names()
        try put("ring.json", Array(text.utf8))
        let found = fault()
        let fault = try #require(found)
        #expect(fault.hasPrefix("keys/ring.json: "))
        #expect(fault.hasSuffix("remove it to have every key in the directory published"))
        #expect(try names() == files)
    }

    @Test func `a withdrawn signing key is replaced by the one that stood by, not by one that nobody knows`() throws {
        let keys = try open()
        let (signing, standby) = (keys.published(at: Self.start)[0].kid, keys.published(at: Self.start)[1].kid)
        try FileManager.default.removeItem(atPath: "\(path)/\(signing).pem")
        let after = try open(at: Self.start + 100)
        #expect(after.current(at: Self.start + 100)?.kid == standby)
        #expect(after.published(at: Self.start + 100).count == 2)
        #expect(!after.published(at: Self.start + 100).contains { $0.kid == signing })
    }

    @Test func `a key put beside ours stands by under its own name, and is published once even from two files`() throws
    {
        let current = try #require(try open().current(at: Self.start)?.kid)
        let added = try P256PrivateKey()
        try put("added.pem", try added.pem())
        try put("copy.pem", try added.pem())
        let keys = try open(at: Self.start + 1)
        let kid = String(decoding: added.publicKey.thumbprint, as: UTF8.self)
        let published = keys.published(at: Self.start + 1).map(\.kid)
        #expect(published.filter { $0 == kid }.count == 1)
        #expect(published.count == 3)
        #expect(keys.current(at: Self.start + 1)?.kid == current)
        #expect(try names().contains("\(kid).pem"))
        #expect(try !names().contains("added.pem"))
        #expect(try !names().contains("copy.pem"))
    }

    @Test(arguments: [0o640, 0o604, 0o644, 0o660, 0o666, 0o601]) func `a key that others may read is refused`(
        mode: Int
    ) throws {
        _ = try open()
        let key = try #require(try names().first { $0.hasSuffix(".pem") })
        try FileManager.default.setAttributes([.posixPermissions: mode], ofItemAtPath: "\(path)/\(key)")
        #expect(fault() == "keys/\(key): permission denied; it must be readable for its owner only")
    }

    @Test func `what is no P-256 private key is refused by name`() throws {
        _ = try open()
        let names = [
            ("a-text.pem", Array("hello".utf8)), ("b-empty.pem", []),
            ("d-other-curve.pem", PEM.text(Self.otherCurve, label: "EC PRIVATE KEY")),
            ("c-public.pem", PEM.text(try P256PrivateKey().publicKey.subjectPublicKeyInfo, label: "PUBLIC KEY")),
        ]
        for (name, text) in names {
            try put(name, text)
            #expect(fault()?.hasPrefix("keys/\(name) holds no P-256 private key") == true, "\(name)")
            try FileManager.default.removeItem(atPath: "\(path)/\(name)")
        }
        #expect(fault() == nil)
    }

    @Test func `too many keys are refused`() throws {
        for index in 0..<17 { try put("k\(index).pem", try P256PrivateKey().pem()) }
        #expect(fault() == "keys: 17 keys; at most 16 are read" || fault() == "\(path): 17 keys; at most 16 are read")
    }

    @Test func `rotations in a row never leave more keys than a start reads`() throws {
        let keys = try open()
        for index in 0..<40 { _ = try? keys.rotate(overlap: 0, now: Self.start + Int64(index)) }
        #expect(try names().filter { $0.hasSuffix(".pem") }.count <= 16)
        let now = Self.start + 41
        #expect(try open(at: now).current(at: now)?.kid == keys.current(at: now)?.kid)
    }

    @Test func `a directory that cannot be written refuses a rotation and keeps what is`() throws {
        let keys = try open()
        let before = keys.published(at: Self.start).map(\.kid)
        try FileManager.default.removeItem(atPath: path)
        #expect(throws: KeyDirectoryFault.self) { try keys.rotate(overlap: 0, now: Self.start) }
        #expect(keys.published(at: Self.start).map(\.kid) == before)
        #expect(fault() == nil, "the next start makes it again")
    }

    @Test func `a place that is no directory is refused`() throws {
        try folder.write("keys", "x")
        #expect(fault()?.contains("not a directory") == true)
        let deep = KeyDirectory(path: "\(folder.path)/a/b/c")
        #expect(throws: KeyDirectoryFault.self) {
            try SigningKeys(directory: deep, log: Log(sink: .memory(log)), now: Self.start)
        }
    }

    // MARK: - Keys from outside

    @Test func `PEM files without a schedule are taken as they are: all published, the last by name signs`() throws {
        let made = try (0..<3).map { _ in try P256PrivateKey() }
        for (index, key) in made.enumerated() { try put("key-\(index).pem", try key.pem(), mode: 0o400) }
        let keys = try open()
        let published = keys.published(at: Self.start)
        #expect(Set(published.map(\.kid)).count == 3)
        #expect(published[0].kid == String(decoding: made[2].publicKey.thumbprint, as: UTF8.self))
        #expect(
            throws: KeyDirectoryFault("the keys are files given from outside: put another one there and send SIGHUP")
        ) {
            try keys.rotate(overlap: 0, now: Self.start)
        }
        for moment in [Self.start - 86_400, Self.start + 86_400] {
            keys.maintain(now: moment)
            #expect(keys.current(at: moment)?.kid == published[0].kid)
        }
        #expect(try names() == ["key-0.pem", "key-1.pem", "key-2.pem"])
    }

    @Test func `a reload takes new files from outside, and keeps the old ones on a fault`() throws {
        try put("key-0.pem", try P256PrivateKey().pem())
        let keys = try open()
        let added = try P256PrivateKey()
        try put("key-1.pem", try added.pem())
        keys.reload(now: Self.start + 1)
        let kid = String(decoding: added.publicKey.thumbprint, as: UTF8.self)
        #expect(keys.current(at: Self.start + 1)?.kid == kid)
        #expect(keys.published(at: Self.start + 1).count == 2)
        try put("key-2.pem", Array("broken".utf8))
        keys.reload(now: Self.start + 2)
        #expect(keys.current(at: Self.start + 2)?.kid == kid)
        #expect(log.lines.contains { $0.contains("keys.not_loaded") })
        for name in try names() { try FileManager.default.removeItem(atPath: "\(path)/\(name)") }
        keys.reload(now: Self.start + 3)
        #expect(keys.current(at: Self.start + 3)?.kid == kid)
    }
}
