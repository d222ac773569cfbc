// SPDX-License-Identifier: Apache-2.0

internal import HIDCrypto
package import HIDService
internal import Synchronization

/// What came of a rotation.
package struct KeyRotation: Sendable, Equatable {
    /// The key that will sign, and from when (wall clock, seconds since 1970).
    package var kid: String
    package var activates: Int64
    /// The key that has signed until then.
    package var previous: String?
}

/// The signing keys of a running issuer.
///
/// Safe from any thread. There is always one key that signs and one that is published and stands by, so that a rotation
/// never shows a verifier a key it could not have known.
package final class SigningKeys: Sendable {
    /// How long a verifier may keep the key set, in seconds; told in Cache-Control.
    package static let maximumAge: Int64 = 300
    /// The default time between publishing a key and signing with it: twice as long as a set is kept.
    package static let defaultOverlap: Int64 = 2 * maximumAge
    /// How long a key is published after it signed last: longer than any token it signed is accepted, and than a set
    /// is kept.
    static let linger: Int64 = 2 * maximumAge + 120

    private struct State {
        var ring: SigningKeyRing
        var set: [UInt8] = []
        /// The set is made anew when this second is reached.
        var setExpiry: Int64 = 0
    }

    private let directory: KeyDirectory?
    private let isManaged: Bool
    private let log: Log
    private let state: Mutex<State>

    /// Loads the keys of a directory, or makes them; without one they live as long as the process.
    package init(directory: KeyDirectory?, log: Log, now: Int64) throws(KeyDirectoryFault) {
        self.directory = directory
        self.log = log
        try directory?.create()
        isManaged = directory?.isManaged ?? true
        var ring = try directory?.load(now: now) ?? SigningKeyRing()
        if isManaged {
            try Self.complete(&ring, now: now)
            try directory?.save(ring)
        }
        guard ring.current(at: now) != nil else {
            throw KeyDirectoryFault("\(directory?.path ?? ""): no key is active; put a P-256 private key there")
        }
        state = Mutex(State(ring: ring))
    }

    /// The key that signs now.
    func current(at now: Int64) -> SigningKey? {
        state.withLock { $0.ring.current(at: now) }
    }

    /// Everything published now, the signing key first.
    package func published(at now: Int64) -> [SigningKey] {
        state.withLock { $0.ring.published(at: now) }
    }

    /// The key set (RFC 7517 section 5).
    package func keySet(at now: Int64) -> [UInt8] {
        state.withLock { state in
            if state.setExpiry &- 1 <= now, now < state.setExpiry { return state.set }
            let keys = state.ring.published(at: now)
            state.set = Self.keySet(keys)
            // A second is soon enough for a key that goes; one that comes resets this.
            state.setExpiry = now &+ 1
            return state.set
        }
    }

    private static func keySet(_ keys: [SigningKey]) -> [UInt8] {
        var line = JSONLineWriter()
        line.begin()
        line.beginArray("keys")
        for key in keys {
            let point = key.key.publicKey
            let (x, y) = (point.x, point.y)
            line.beginElement()
            line.string("kty", "EC")
            line.string("crv", "P-256")
            line.string("x", Base64URL.encode(x.span))
            line.string("y", Base64URL.encode(y.span))
            line.string("kid", key.kid)
            line.string("use", "sig")
            line.string("alg", "ES256")
            line.endObject()
        }
        line.endArray()
        line.end()
        return line.bytes
    }

    // MARK: - Rotation

    /// Has the key that stands by sign once it has been published for `overlap` seconds, and publishes a new one.
    ///
    /// While a rotation is under way another one can only bring its moment forward.
    package func rotate(overlap: Int64, now: Int64) throws(KeyDirectoryFault) -> KeyRotation {
        guard isManaged else {
            throw KeyDirectoryFault("the keys are files given from outside: put another one there and send SIGHUP")
        }
        let result = state.withLock { state -> Result<KeyRotation, KeyDirectoryFault> in
            var ring = state.ring
            _ = ring.sweep(at: now)
            let previous = ring.current(at: now)?.kid
            guard let next = ring.next(at: now)?.kid,
                let activates = ring.rotate(overlap: overlap, linger: Self.linger, at: now)
            else { return .failure(KeyDirectoryFault("no key stands by; try again in a second")) }
            do throws(KeyDirectoryFault) {
                try Self.complete(&ring, now: now)
                guard ring.keys.count <= KeyDirectory.keyLimit else {
                    throw KeyDirectoryFault("\(state.ring.keys.count) keys are published; wait until one has retired")
                }
                try directory?.save(ring)
            } catch {
                return .failure(error)
            }
            state.ring = ring
            state.setExpiry = 0
            return .success(KeyRotation(kid: next, activates: activates, previous: previous))
        }
        let rotation = try result.get()
        log.info(
            "keys.rotated",
            [
                "kid": .string(rotation.kid), "activates": .integer(Int(rotation.activates)),
                "previous": .string(rotation.previous ?? ""),
            ])
        return rotation
    }

    /// Forgets what has retired and sees to it that a key stands by.
    ///
    /// Call it every few seconds.
    package func maintain(now: Int64) {
        guard isManaged else { return }
        let fault = state.withLock { state -> KeyDirectoryFault? in
            var ring = state.ring
            let gone = ring.sweep(at: now)
            guard !gone.isEmpty || ring.standby == nil else { return nil }
            do throws(KeyDirectoryFault) {
                try Self.complete(&ring, now: now)
                try directory?.save(ring)
            } catch {
                return error
            }
            state.ring = ring
            state.setExpiry = 0
            return nil
        }
        if let fault { log.error("keys.not_saved", ["fault": .string(fault.description)]) }
    }

    /// Reads the directory again, on SIGHUP; on a fault the old keys stay.
    package func reload(now: Int64) {
        guard let directory, !isManaged else { return }
        do throws(KeyDirectoryFault) {
            let ring = try directory.load(now: now)
            guard ring.current(at: now) != nil else { throw KeyDirectoryFault("\(directory.path): no key is there") }
            state.withLock { state in
                state.ring = ring
                state.setExpiry = 0
            }
            log.info("keys.loaded", ["keys": .integer(ring.keys.count)])
        } catch {
            log.error("keys.not_loaded", ["fault": .string(error.description)])
        }
    }

    /// Makes what is missing: one key that signs and one that stands by.
    ///
    /// When the signing key is gone, one that was published already takes its place if there is any.
    private static func complete(_ ring: inout SigningKeyRing, now: Int64) throws(KeyDirectoryFault) {
        _ = ring.sweep(at: now)
        if ring.current(at: now) == nil, !ring.promote(at: now) {
            ring.keys.append(try newKey(now: now, activates: now))
        }
        if ring.standby == nil { ring.keys.append(try newKey(now: now, activates: nil)) }
    }

    private static func newKey(now: Int64, activates: Int64?) throws(KeyDirectoryFault) -> SigningKey {
        do throws(CryptoError) {
            return SigningKey(key: try P256PrivateKey(), published: now, activates: activates)
        } catch {
            throw KeyDirectoryFault("\(error)")
        }
    }
}
