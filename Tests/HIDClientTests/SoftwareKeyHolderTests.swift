// SPDX-License-Identifier: Apache-2.0
import Foundation
import HIDClient
import HIDCrypto
import HIDTesting
import Testing

/// The key in a file: it survives restarts, and nothing that is damaged is mistaken for nothing.
@Suite(.timeLimit(.minutes(10))) final class SoftwareKeyHolderTests {
    private let folder: String
    private let path: String
    private let authority: P256PrivateKey
    private let challenge = HumanIDChallenge(
        applicationID: "app-1", deviceID: "dev-1", nonceText: "bm9uY2U", nonce: Array("nonce".utf8))

    init() throws {
        folder = NSTemporaryDirectory() + "hid-client-\(UUID().uuidString)"
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: false)
        path = folder + "/device.key"
        authority = try P256PrivateKey()
    }

    deinit { try? FileManager.default.removeItem(atPath: folder) }

    private func holder(_ path: String? = nil) throws -> SoftwareKeyHolder {
        try SoftwareKeyHolder(authorityKey: authority.pem(), file: path ?? self.path)
    }

    private func fault(_ call: () async throws(HumanIDKeyError) -> some Any) async -> HumanIDKeyError? {
        do throws(HumanIDKeyError) {
            _ = try await call()
            return nil
        } catch { return error }
    }

    /// The error of every way to use a holder, which must be the same one.
    private func faultOfAll(_ holder: SoftwareKeyHolder) async -> HumanIDKeyError? {
        let loaded = await fault { () async throws(HumanIDKeyError) in try await holder.loadKey() }
        let made = await fault { () async throws(HumanIDKeyError) in try await holder.makeKey() }
        let named = await fault { () async throws(HumanIDKeyError) in try await holder.deviceID() }
        #expect(loaded == made && made == named)
        return loaded
    }

    private func write(_ bytes: [UInt8], mode: Int = 0o600) throws {
        try? FileManager.default.removeItem(atPath: path)
        let isMade = FileManager.default.createFile(
            atPath: path, contents: Data(bytes), attributes: [.posixPermissions: mode])
        #expect(isMade)
    }

    private func read() throws -> [UInt8] { Array(try Data(contentsOf: URL(fileURLWithPath: path))) }

    @Test func `key and device id survive a restart, in a file of the mode 0600 and nothing beside it`() async throws {
        let first = try holder()
        #expect(try await first.loadKey() == nil)
        let key = try await first.makeKey()
        let device = try await first.deviceID()
        #expect(device.hasPrefix("dev-") && device.utf8.count == 26)
        let second = try holder()
        #expect(try await second.loadKey() == key)
        #expect(try await second.deviceID() == device)
        let signature = try await second.sign([1, 2], with: key)
        #expect(ModelServer.isSignature(TestDevice.base64(signature), of: [1, 2], by: key))
        let attributes = try FileManager.default.attributesOfItem(atPath: path)
        #expect(attributes[.posixPermissions] as? Int == 0o600)
        #expect(try FileManager.default.contentsOfDirectory(atPath: folder) == ["device.key"])
    }

    @Test func `a deleted key is gone after a restart, and the device id stays`() async throws {
        let first = try holder()
        let key = try await first.makeKey()
        let device = try await first.deviceID()
        try await first.deleteKey()
        #expect(try await first.loadKey() == nil)
        let second = try holder()
        #expect(try await second.loadKey() == nil)
        #expect(try await second.deviceID() == device)
        #expect(
            await fault { () async throws(HumanIDKeyError) in try await second.sign([], with: key) } == .invalidated)
        #expect(try await second.makeKey() != key)
    }

    @Test func `a key in memory lives as long as its holder`() async throws {
        let first = try SoftwareKeyHolder(authorityKey: nil)
        let key = try await first.makeKey()
        #expect(try await first.loadKey() == key)
        let device = try await first.deviceID()
        #expect(try await first.deviceID() == device)
        #expect(try await SoftwareKeyHolder(authorityKey: nil).deviceID() != device)
    }

    @Test func `a file cut at any length is corrupt, and is left as it is`() async throws {
        _ = try await holder().makeKey()
        let whole = try read()
        for count in whole.indices {
            try write(Array(whole.prefix(count)))
            guard case .corrupt = await faultOfAll(try holder()) else {
                Issue.record("\(count) octets")
                return
            }
            #expect(try read().count == count)
        }
        try write(whole + [0x0A])
        guard case .corrupt = await faultOfAll(try holder()) else {
            Issue.record("one octet more")
            return
        }
    }

    @Test func `a file with any octet changed is corrupt`() async throws {
        _ = try await holder().makeKey()
        let whole = try read()
        for index in whole.indices {
            var changed = whole
            changed[index] ^= 1 << UInt8(index % 8)
            try write(changed)
            guard case .corrupt = await faultOfAll(try holder()) else {
                Issue.record("octet \(index)")
                return
            }
        }
        var generator = SystemRandomNumberGenerator()
        for count in [1, 60, 200, 20_000] {
            try write((0..<count).map { _ in UInt8.random(in: 0...255, using: &generator) })
            guard case .corrupt = await faultOfAll(try holder()) else {
                Issue.record("\(count) random octets")
                return
            }
        }
    }

    @Test func `a right seal over a wrong text does not make it right`() async throws {
        let seal = { (text: String) in
            Array((text + "sha256 \(TestDevice.base64URL(SHA256.digest(Array(text.utf8))))\n").utf8)
        }
        let head = "hid-software-key 1\ndevice_id "
        for text in [
            head + "\n", head + "a b\n", head + "a", head + String(repeating: "a", count: 129) + "\n", head + "a\nx\n",
            head + "a\n-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----\n",
            "hid-software-key 2\ndevice_id a\n",
        ] {
            try write(seal(text))
            guard case .corrupt = await faultOfAll(try holder()) else {
                Issue.record("\(text)")
                return
            }
        }
        try write(seal(head + "a\n"))
        #expect(try await holder().deviceID() == "a")
    }

    @Test(arguments: [0o640, 0o604, 0o660, 0o644, 0o610, 0o777])
    func `a file that others may use is refused`(_ mode: Int) async throws {
        _ = try await holder().makeKey()
        try FileManager.default.setAttributes([.posixPermissions: mode], ofItemAtPath: path)
        guard case .corrupt(let words) = await faultOfAll(try holder()) else {
            Issue.record("\(mode)")
            return
        }
        #expect(words.contains("0600"))
    }

    @Test func `a folder in the place of the file, or no folder for it, is told`() async throws {
        try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: false)
        guard case .corrupt = await faultOfAll(try holder()) else {
            Issue.record("a folder")
            return
        }
        let homeless = try holder(folder + "/none/device.key")
        guard case .unavailable = await fault({ () async throws(HumanIDKeyError) in try await homeless.makeKey() })
        else {
            Issue.record("no folder")
            return
        }
    }

    @Test func `many holders that start with one file end with one identity`() async throws {
        let files = (0..<40).map { "\($0).key" }
        for file in files {
            let holders = try (0..<8).map { _ in try holder(folder + "/" + file) }
            let devices = try await withThrowingTaskGroup(of: String.self) { group in
                for holder in holders { group.addTask { try await holder.deviceID() } }
                return try await group.reduce(into: Set()) { $0.insert($1) }
            }
            #expect(devices.count == 1)
        }
        #expect(try Set(FileManager.default.contentsOfDirectory(atPath: folder)) == Set(files))
    }

    @Test func `an attestation is the authority's statement about the current key`() async throws {
        let claims: [String: HumanIDClaim] = ["level": .text("strongbox"), "age": .integer(3)]
        let holder = try SoftwareKeyHolder(authorityKey: authority.pem(), claims: claims)
        let key = try await holder.makeKey()
        guard case .test(let told, let signature) = try await holder.attest(challenge, for: key) else {
            Issue.record("not of the platform test")
            return
        }
        #expect(told == claims && holder.platform == .test)
        let statement = RequestBase.testAttestation(challenge, publicKey: key, claims: claims)
        let signer = authority.publicKey.subjectPublicKeyInfo
        #expect(ModelServer.isSignature(TestDevice.base64(signature), of: statement, by: signer))
        let newer = try await holder.makeKey()
        #expect(newer != key)
        #expect(
            await fault { () async throws(HumanIDKeyError) in try await holder.attest(challenge, for: key) }
                == .invalidated)
    }

    @Test func `without an authority, or with a bad one, nothing is attested`() async throws {
        let holder = try SoftwareKeyHolder(authorityKey: nil)
        let key = try await holder.makeKey()
        guard
            case .unsupported = await fault({ () async throws(HumanIDKeyError) in
                try await holder.attest(challenge, for: key)
            })
        else {
            Issue.record("attested")
            return
        }
        for pem in [[], Array("x".utf8), Array(try authority.pem().dropLast(30))] {
            #expect(throws: HumanIDKeyError.self) { try SoftwareKeyHolder(authorityKey: pem) }
        }
    }
}
