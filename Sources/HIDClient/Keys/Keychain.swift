// SPDX-License-Identifier: Apache-2.0

#if canImport(DeviceCheck)
    internal import Foundation
    internal import Security

    /// Small secrets of this application on this device: not in backups, not synchronised, readable once the device
    /// has been unlocked after its start.
    struct Keychain: Sendable {
        let service: String
        /// The keychain access group; nil: the application's own.
        let accessGroup: String?

        /// Reads an item; nil when there is none.
        ///
        /// - Throws: `unavailable` when that cannot be told, as before the first unlock.
        func read(_ account: String) throws(HumanIDKeyError) -> Data? {
            var query = query(for: account)
            query[kSecReturnData] = true
            query[kSecMatchLimit] = kSecMatchLimitOne
            var result: CFTypeRef?
            let status = unsafe SecItemCopyMatching(query as CFDictionary, &result)
            if status == errSecItemNotFound { return nil }
            guard status == errSecSuccess else { throw Self.failure(status, "read") }
            guard let data = result as? Data else { throw .corrupt("a keychain item of another type") }
            return data
        }

        /// Adds an item.
        ///
        /// - Returns: `false` when there is one already, which stays as it is.
        /// - Throws: `unavailable`.
        func add(_ account: String, _ data: Data) throws(HumanIDKeyError) -> Bool {
            var item = query(for: account)
            item[kSecValueData] = data
            item[kSecAttrAccessible] = kSecAttrAccessibleAfterFirstUnlockThisDeviceOnly
            let status = SecItemAdd(item as CFDictionary, nil)
            if status == errSecDuplicateItem { return false }
            guard status == errSecSuccess else { throw Self.failure(status, "add") }
            return true
        }

        /// Adds or replaces an item.
        ///
        /// - Throws: `unavailable`; an older item is still there then.
        func write(_ account: String, _ data: Data) throws(HumanIDKeyError) {
            guard !(try add(account, data)) else { return }
            let change: [CFString: Any] = [kSecValueData: data]
            let status = SecItemUpdate(query(for: account) as CFDictionary, change as CFDictionary)
            guard status == errSecSuccess else { throw Self.failure(status, "update") }
        }

        /// Takes an item away; without one nothing happens.
        ///
        /// - Throws: `unavailable`.
        func delete(_ account: String) throws(HumanIDKeyError) {
            let status = SecItemDelete(query(for: account) as CFDictionary)
            guard status == errSecSuccess || status == errSecItemNotFound else { throw Self.failure(status, "delete") }
        }

        private func query(for account: String) -> [CFString: Any] {
            var query: [CFString: Any] = [
                kSecClass: kSecClassGenericPassword, kSecAttrService: service, kSecAttrAccount: account,
                kSecUseDataProtectionKeychain: true,
            ]
            if let accessGroup { query[kSecAttrAccessGroup] = accessGroup }
            return query
        }

        private static func failure(_ status: OSStatus, _ verb: String) -> HumanIDKeyError {
            status == errSecInteractionNotAllowed
                ? .unavailable("the device has not been unlocked since its start")
                : .unavailable("keychain \(verb): status \(status)")
        }
    }
#endif
