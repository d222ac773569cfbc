// SPDX-License-Identifier: Apache-2.0

internal import HIDCrypto
internal import HIDService

/// The signing keys on disk: one PEM file of mode 0600 a key, and `ring.json`, which says when each signs.
///
/// A directory with PEM files and no `ring.json`, such as the service manager's credentials, is taken as it is: every
/// key is published, the last by name signs.
package struct KeyDirectory: Sendable {
    package let path: String
    private static let ringName = "ring.json"
    /// Keys that are read and published, at most.
    static let keyLimit = 16

    package init(path: String) {
        self.path = path
    }

    /// Whether the schedule is ours to write: true for an empty directory and for one with `ring.json`.
    package var isManaged: Bool {
        guard let names = try? FileSystem.names(in: path) else { return false }
        return names.contains(Self.ringName) || !names.contains { $0.hasSuffix(".pem") }
    }

    /// Makes the directory, for its owner only, when it is not there.
    package func create() throws(KeyDirectoryFault) {
        do throws(SystemFault) {
            try FileSystem.createDirectory(path, mode: 0o700)
        } catch {
            throw .init("cannot make \(path): \(error)")
        }
    }

    /// Reads what is there; an empty ring when there is nothing.
    package func load(now: Int64) throws(KeyDirectoryFault) -> SigningKeyRing {
        let names: [String]
        do throws(SystemFault) {
            names = try FileSystem.names(in: path)
        } catch {
            throw .init("\(path): \(error)")
        }
        let files = names.filter { $0.hasSuffix(".pem") && !$0.hasPrefix(".") }.sorted()
        guard files.count <= Self.keyLimit else {
            throw .init("\(path): \(files.count) keys; at most \(Self.keyLimit) are read")
        }
        var keys: [SigningKey] = []
        for file in files {
            let key = try key(file, now: now)
            // One key in two files must not be published twice: verifiers refuse such a set.
            keys.removeAll { $0.kid == key.kid }
            keys.append(key)
        }
        guard names.contains(Self.ringName) else {
            if let last = keys.indices.last { keys[last].activates = now }
            return SigningKeyRing(keys: keys)
        }
        return SigningKeyRing(keys: try scheduled(keys))
    }

    private func key(_ file: String, now: Int64) throws(KeyDirectoryFault) -> SigningKey {
        let full = "\(path)/\(file)"
        let pem: [UInt8]
        do throws(SystemFault) {
            try FileSystem.requirePrivate(at: full)
            pem = try FileSystem.contents(of: full, limit: 16 << 10)
        } catch {
            throw .init("\(full): \(error); it must be readable for its owner only")
        }
        do throws(CryptoError) {
            return SigningKey(key: try P256PrivateKey(pem: pem), published: now, activates: nil)
        } catch {
            throw .init("\(full) holds no P-256 private key: \(error)")
        }
    }

    /// Puts the moments of `ring.json` to the keys; a key it does not know stands by.
    private func scheduled(_ keys: [SigningKey]) throws(KeyDirectoryFault) -> [SigningKey] {
        let full = "\(path)/\(Self.ringName)"
        let document: StrictJSON
        do {
            document = try StrictJSON(try FileSystem.contents(of: full, limit: 64 << 10))
        } catch {
            throw .init("\(full): \(error); remove it to have every key in the directory published")
        }
        let damaged = KeyDirectoryFault(
            "\(full): not a schedule of keys; remove it to have every key in the directory published")
        guard let list = document.member("keys", of: document.root), document.kind(list) == .array else {
            throw damaged
        }
        var keys = keys
        for node in document.elements(of: list) {
            guard let kid = document.member("kid", of: node).flatMap({ document.textBytes($0) }) else { throw damaged }
            func moment(_ name: StaticString) throws(KeyDirectoryFault) -> Int64? {
                guard let member = document.member(name, of: node) else { return nil }
                guard let moment = document.integer(member) else { throw damaged }
                return moment
            }
            let moments = (try moment("published"), try moment("activates"), try moment("retires"))
            // The file of a key may be gone: somebody has withdrawn it.
            guard let index = keys.firstIndex(where: { $0.kid == String(decoding: kid, as: UTF8.self) }) else {
                continue
            }
            keys[index].published = moments.0 ?? keys[index].published
            (keys[index].activates, keys[index].retires) = (moments.1, moments.2)
        }
        return keys
    }

    /// Writes new keys and the schedule, then removes the keys that are not in the ring any more.
    package func save(_ ring: SigningKeyRing) throws(KeyDirectoryFault) {
        do {
            for key in ring.keys {
                let file = "\(path)/\(key.kid).pem"
                if (try? FileSystem.requireFile(at: file)) == nil {
                    try FileSystem.replace(file, with: try key.key.pem(), mode: 0o600)
                }
            }
            try FileSystem.replace("\(path)/\(Self.ringName)", with: schedule(of: ring), mode: 0o600)
            let known = Set(ring.keys.map { "\($0.kid).pem" })
            for name in try FileSystem.names(in: path) where name.hasSuffix(".pem") && !known.contains(name) {
                try FileSystem.remove("\(path)/\(name)")
            }
        } catch {
            throw .init("\(path): \(error)")
        }
    }

    private func schedule(of ring: SigningKeyRing) -> [UInt8] {
        var line = JSONLineWriter()
        line.begin()
        line.beginArray("keys")
        for key in ring.keys {
            line.beginElement()
            line.string("kid", key.kid)
            line.integer("published", key.published)
            if let moment = key.activates { line.integer("activates", moment) }
            if let moment = key.retires { line.integer("retires", moment) }
            line.endObject()
        }
        line.endArray()
        line.end()
        return line.bytes
    }
}

/// What is wrong with the directory of signing keys; the text says what to do.
package struct KeyDirectoryFault: Error, Sendable, Equatable, CustomStringConvertible {
    package let description: String

    init(_ description: String) {
        self.description = description
    }
}
