// SPDX-License-Identifier: Apache-2.0

internal import HIDCrypto
internal import HIDService

extension IssuerDecoder {
    func decodeApps(_ map: MappingReader) {
        var seen: [String: Mark] = [:]
        for value in map.required("apps")?.nonEmptyList() ?? [] {
            value.mapping { app in
                guard let name = app.required("app_id"), let appID = identifier(name) else {
                    _ = (app.value("android"), app.value("ios"), app.value("test"))
                    return
                }
                if let first = seen[appID] {
                    name.error("duplicate app_id \(appID.quoted), first on line \(first.line)")
                }
                seen[appID] = name.mark
                configuration.apps[appID] = decodeApp(app, appID)
            }
        }
    }

    private func decodeApp(_ map: MappingReader, _ appID: String) -> AppConfiguration {
        var app = AppConfiguration(appID: appID)
        app.android = map.value("android")?.mapping(decodeAndroid)
        app.ios = map.value("ios")?.mapping(decodeApple)
        app.test = map.value("test")?.mapping(decodeTest)
        let isEmpty = ["android", "ios", "test"].allSatisfy { map.keyMark($0) == nil }
        if isEmpty { reporter.error("app \(appID.quoted) needs 'android', 'ios' or 'test'", at: map.mark) }
        return app
    }

    /// 1-64 of `A-Z a-z 0-9 . _ -` (PROTOCOL.md section 1).
    private func identifier(_ value: ConfigurationValue) -> String? {
        guard let text = value.string() else { return nil }
        guard Identifier.isValid(Array(text.utf8), maximum: Identifier.appIDLength) else {
            value.mustBe("1 to 64 of A-Z a-z 0-9 . _ -")
            return nil
        }
        return text
    }

    private func decodeAndroid(_ map: MappingReader) -> AndroidAppConfiguration {
        var android = AndroidAppConfiguration()
        android.packages = map.required("packages")?.nonEmptyList()?.compactMap { $0.string() } ?? []
        android.signerDigests = map.required("signer_digests")?.nonEmptyList()?.compactMap(digest) ?? []
        if let levels = map.value("security_levels")?.nonEmptyList() {
            android.securityLevels = Set(levels.compactMap { $0.word(AndroidLevel.self)?.level })
        }
        android.verifiedBootKeys = (map.value("verified_boot_keys")?.list() ?? []).compactMap(digest)
        return android
    }

    /// A level that an Android key can have and an operator may want.
    private enum AndroidLevel: String, CaseIterable {
        case strongbox
        case tee

        var level: SecurityLevel {
            switch self {
            case .strongbox: .strongbox
            case .tee: .tee
            }
        }
    }

    /// SHA-256 in hexadecimal, with the colons that keytool writes or without.
    private func digest(_ value: ConfigurationValue) -> [UInt8]? {
        let what = "64 hexadecimal digits"
        guard let text = value.scalar(what) else { return nil }
        guard let octets = Hex.decode(text.filter { $0 != ":" }), octets.count == 32 else {
            value.mustBe(what)
            return nil
        }
        return octets
    }

    private func decodeApple(_ map: MappingReader) -> AppleAppConfiguration {
        var apple = AppleAppConfiguration()
        if let value = map.required("team_id"), let text = value.string() {
            let isTeam = text.utf8.count == 10 && text.utf8.allSatisfy { $0 &- 0x30 < 10 || $0 &- 0x41 < 26 }
            if !isTeam { value.mustBe("ten of A-Z 0-9, as in Apple's developer account") }
            apple.teamID = text
        }
        apple.bundleIDs = map.required("bundle_ids")?.nonEmptyList()?.compactMap { $0.string() } ?? []
        let environment = map.value("environment")?.word(AppAttestEnvironment.self)
        apple.environment = environment ?? apple.environment
        return apple
    }

    private func decodeTest(_ map: MappingReader) -> TestAppConfiguration {
        var test = TestAppConfiguration()
        test.authorityKeys = map.required("authority_keys")?.nonEmptyList()?.compactMap(authorityKey) ?? []
        return test
    }

    private func authorityKey(_ value: ConfigurationValue) -> [UInt8]? {
        guard let pem = paths.contents(value, limit: 64 << 10) else { return nil }
        do throws(CryptoError) {
            return try P256PublicKey(pem: pem).point
        } catch {
            value.error("\(value.name.quoted): \(value.node.shown) must hold one P-256 public key in PEM")
            return nil
        }
    }
}
