// SPDX-License-Identifier: Apache-2.0

#if !canImport(CryptoKit)
    internal import HIDCrypto

    /// A device id and maybe a key, and the text that keeps them.
    ///
    /// Lines: the format's name, `device_id` and the id, the PKCS#8 PEM if there is a key, and `sha256` with the
    /// base64url digest of all octets before it. Every single octet is checked, so a file that was cut or changed is
    /// told from one that never was.
    struct SoftwareIdentity: Sendable {
        var deviceID: String
        var key: P256PrivateKey?

        private static let head = Array("hid-software-key 1\ndevice_id ".utf8)
        private static let sealName = Array("sha256 ".utf8)

        init(deviceID: String, key: P256PrivateKey?) {
            self.deviceID = deviceID
            self.key = key
        }

        /// Reads the text.
        ///
        /// - Throws: `corrupt`.
        init(decoding bytes: [UInt8]) throws(HumanIDKeyError) {
            let sealSize = Self.sealName.count + 44
            guard bytes.count > Self.head.count + sealSize, bytes.starts(with: Self.head) else {
                throw .corrupt("not a device key file")
            }
            let sealed = Array(bytes.dropLast(sealSize))
            guard Self.seal(of: sealed).elementsEqual(bytes.suffix(sealSize)) else {
                throw .corrupt("the checksum does not fit")
            }
            let rest = sealed.dropFirst(Self.head.count)
            guard let end = rest.firstIndex(of: 0x0A) else { throw .corrupt("no device id") }
            deviceID = String(decoding: rest[..<end], as: UTF8.self)
            guard Identifier.isValid(deviceID, atMost: 128) else { throw .corrupt("the device id is malformed") }
            let pem = Array(rest[(end + 1)...])
            guard !pem.isEmpty else {
                key = nil
                return
            }
            guard let read = try? P256PrivateKey(pem: pem) else { throw .corrupt("the key is malformed") }
            key = read
        }

        /// Writes the text.
        ///
        /// - Throws: `unavailable` when the library cannot write the key.
        func encoded() throws(HumanIDKeyError) -> [UInt8] {
            var bytes = Self.head + deviceID.utf8 + [0x0A]
            if let key {
                guard let pem = try? key.pem() else { throw .unavailable("the key could not be written") }
                bytes += pem
            }
            return bytes + Self.seal(of: bytes)
        }

        private static func seal(of bytes: [UInt8]) -> [UInt8] {
            sealName + Primitives.base64URL(Primitives.sha256(bytes)).utf8 + [0x0A]
        }
    }
#endif
