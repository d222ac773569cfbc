// SPDX-License-Identifier: Apache-2.0
internal import COpenSSL
internal import Synchronization

/// The keys that seal session tickets, shared by all loops and kept across reloads.
///
/// They are made at random and never leave the process: after a restart every client makes a full handshake once.
package final class TLSTicketKeys: Sendable {
    /// Keys that are kept: the one that seals, and those that still open tickets and cause their renewal.
    package static let keysKept = 3

    private let clock: @Sendable () -> Int64
    private let life: Int64
    /// The newest first.
    private let keys: Mutex<[TLSTicketKey]>

    /// Makes the first key.
    ///
    /// - Parameters:
    ///   - life: Seconds after which a new key seals.
    ///   - clock: Seconds of any clock that does not jump; read at each handshake.
    /// - Throws: `operationFailed` without entropy.
    package init(life: Int64 = 12 * 3600, clock: @escaping @Sendable () -> Int64) throws(CryptoError) {
        self.clock = clock
        self.life = max(1, life)
        guard let first = TLSTicketKey(made: clock()) else {
            throw .operationFailed("make ticket keys", openSSL: OpenSSLErrors.drain())
        }
        keys = Mutex([first])
    }

    /// The key that seals now, made when the last one is old; nil without entropy.
    func sealing() -> TLSTicketKey? {
        let now = clock()
        return keys.withLock { keys in
            rotate(&keys, now)
            return keys.first
        }
    }

    /// The key of a name and whether the ticket should be renewed; nil for a key that is gone.
    func opening(_ name: [UInt8]) -> (key: TLSTicketKey, isOld: Bool)? {
        let now = clock()
        return keys.withLock { keys in
            rotate(&keys, now)
            guard let index = keys.firstIndex(where: { $0.name == name }) else { return nil }
            return (keys[index], index > 0)
        }
    }

    private func rotate(_ keys: inout [TLSTicketKey], _ now: Int64) {
        let lives = Int64(Self.keysKept)
        let kept = keys.filter { now < $0.made || (now - $0.made) / life < lives }
        if let newest = kept.first, now < newest.made || now - newest.made < life {
            if kept.count < keys.count { keys = kept }
            return
        }
        // Without entropy nothing is sealed: an old key must not go on for ever.
        guard let next = TLSTicketKey(made: now) else { return keys = [] }
        keys = Array(([next] + kept).prefix(Self.keysKept))
    }
}

/// One generation: a name of 16 octets, AES-256 and HMAC-SHA256 keys; wiped in the end.
@safe final class TLSTicketKey: @unchecked Sendable {
    static let nameSize = 16
    private static let size = 64

    let name: [UInt8]
    let made: Int64
    /// 32 octets of AES, then 32 of HMAC, owned; written by `init` and `deinit` only.
    private let material: UnsafeMutablePointer<UInt8>

    /// Makes one at random; nil without entropy.
    init?(made: Int64) {
        var name = [UInt8](repeating: 0, count: Self.nameSize)
        unsafe material = .allocate(capacity: Self.size)
        unsafe material.initialize(repeating: 0, count: Self.size)
        let isMade = unsafe RAND_bytes(&name, Int32(name.count)) == 1 && RAND_priv_bytes(material, 64) == 1
        self.made = made
        self.name = name
        // From here on `deinit` runs, for a failed `init` as well.
        guard isMade else { return nil }
    }

    deinit {
        unsafe OPENSSL_cleanse(material, Self.size)
        unsafe material.deallocate()
    }

    /// Gives AES-256-CBC its key, for sealing or opening.
    func start(_ cipher: OpaquePointer, iv: UnsafePointer<UInt8>, seals: Bool) -> Bool {
        unsafe EVP_CipherInit_ex(cipher, EVP_aes_256_cbc(), nil, material, iv, seals ? 1 : 0) == 1
    }

    /// Gives HMAC-SHA256 its key (manual page SSL_CTX_set_tlsext_ticket_key_evp_cb).
    func start(mac: OpaquePointer) -> Bool {
        // A parameter points to its name, which must live as long.
        var digest = Array("SHA256".utf8CString)
        let keyName = Array(OSSL_MAC_PARAM_KEY.utf8CString)
        let digestName = Array(OSSL_MAC_PARAM_DIGEST.utf8CString)
        return unsafe keyName.withUnsafeBufferPointer { keyName in
            unsafe digestName.withUnsafeBufferPointer { digestName in
                unsafe digest.withUnsafeMutableBufferPointer { digest in
                    var parameters = unsafe [
                        OSSL_PARAM_construct_octet_string(keyName.baseAddress, material + 32, 32),
                        OSSL_PARAM_construct_utf8_string(digestName.baseAddress, digest.baseAddress, 0),
                        OSSL_PARAM_construct_end(),
                    ]
                    return unsafe EVP_MAC_CTX_set_params(mac, &parameters) == 1
                }
            }
        }
    }
}
