// SPDX-License-Identifier: Apache-2.0

extension IssuerConfigurationFault {
    /// Applications and their platforms.
    static let apps: [IssuerConfigurationFault] = [
        IssuerConfigurationFault(
            "no apps", section: "apps",
            #"""
            # none
            """#,
            expected: #"""
                his.yaml:1:1: error: missing key 'apps'
                version: 1
                ^

                """#),
        IssuerConfigurationFault(
            "an empty list of apps", section: "apps",
            #"""
            apps: []
            """#,
            expected: #"""
                his.yaml:6:7: error: 'apps' must not be empty
                apps: []
                      ^

                """#),
        IssuerConfigurationFault(
            "apps as a mapping", section: "apps",
            #"""
            apps: { demo: {} }
            """#,
            expected: #"""
                his.yaml:6:7: error: 'apps' must be a list, not a mapping
                apps: { demo: {} }
                      ^

                """#),
        IssuerConfigurationFault(
            "an app without app_id", section: "apps",
            #"""
            apps: [{ test: { authority_keys: [authority.pem] } }]
            """#,
            expected: #"""
                his.yaml:6:8: error: missing key 'app_id' in 'apps'
                apps: [{ test: { authority_keys: [authority.pem] } }]
                       ^

                """#),
        IssuerConfigurationFault(
            "an app_id with a space", section: "apps",
            #"""
            apps: [{ app_id: "a b", test: { authority_keys: [authority.pem] } }]
            """#,
            expected: #"""
                his.yaml:6:18: error: 'app_id' must be 1 to 64 of A-Z a-z 0-9 . _ -, not 'a b'
                apps: [{ app_id: "a b", test: { authority_keys: [authority.pem] } }]
                                 ^

                """#),
        IssuerConfigurationFault(
            "an empty app_id", section: "apps",
            #"""
            apps: [{ app_id: "", test: { authority_keys: [authority.pem] } }]
            """#,
            expected: #"""
                his.yaml:6:18: error: 'app_id' must not be empty
                apps: [{ app_id: "", test: { authority_keys: [authority.pem] } }]
                                 ^

                """#),
        IssuerConfigurationFault(
            "an app_id that is too long", section: "apps",
            #"""
            apps: [{ app_id: aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa, test: { authority_keys: [authority.pem] } }]
            """#,
            expected: #"""
                his.yaml:6:18: error: 'app_id' must be 1 to 64 of A-Z a-z 0-9 . _ -, not 'aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa'
                apps: [{ app_id: aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa, test: { authority_keys: [authority.pem] } }]
                                 ^

                """#),
        IssuerConfigurationFault(
            "two apps alike", section: "apps",
            #"""
            apps: [{ app_id: demo, test: { authority_keys: [authority.pem] } }, { app_id: demo, test: { authority_keys: [authority.pem] } }]
            """#,
            expected: #"""
                his.yaml:6:79: error: duplicate app_id 'demo', first on line 6
                apps: [{ app_id: demo, test: { authority_keys: [authority.pem] } }, { app_id: demo, test: { authority_keys: [authority.pem] } }]
                                                                                              ^

                """#),
        IssuerConfigurationFault(
            "an app without a platform", section: "apps",
            #"""
            apps: [{ app_id: demo }]
            """#,
            expected: #"""
                his.yaml:6:8: error: app 'demo' needs 'android', 'ios' or 'test'
                apps: [{ app_id: demo }]
                       ^

                """#),
        IssuerConfigurationFault(
            "an unknown platform", section: "apps",
            #"""
            apps: [{ app_id: demo, andriod: {} }]
            """#,
            expected: #"""
                his.yaml:6:8: error: app 'demo' needs 'android', 'ios' or 'test'
                apps: [{ app_id: demo, andriod: {} }]
                       ^
                his.yaml:6:24: error: unknown key 'andriod', did you mean 'android'?
                apps: [{ app_id: demo, andriod: {} }]
                                       ^

                """#),
        IssuerConfigurationFault(
            "a platform that is null", section: "apps",
            #"""
            apps: [{ app_id: demo, test: }]
            """#,
            expected: #"""
                his.yaml:6:30: error: 'test' has no value
                apps: [{ app_id: demo, test: }]
                                             ^

                """#),
        IssuerConfigurationFault(
            "android without anything", section: "apps",
            #"""
            apps: [{ app_id: demo, android: {} }]
            """#,
            expected: #"""
                his.yaml:6:33: error: missing key 'packages' in 'android'
                apps: [{ app_id: demo, android: {} }]
                                                ^
                his.yaml:6:33: error: missing key 'signer_digests' in 'android'
                apps: [{ app_id: demo, android: {} }]
                                                ^

                """#),
        IssuerConfigurationFault(
            "android with empty lists", section: "apps",
            #"""
            apps: [{ app_id: demo, android: { packages: [], signer_digests: [] } }]
            """#,
            expected: #"""
                his.yaml:6:45: error: 'packages' must not be empty
                apps: [{ app_id: demo, android: { packages: [], signer_digests: [] } }]
                                                            ^
                his.yaml:6:65: error: 'signer_digests' must not be empty
                apps: [{ app_id: demo, android: { packages: [], signer_digests: [] } }]
                                                                                ^

                """#),
        IssuerConfigurationFault(
            "a package that is a list", section: "apps",
            #"""
            apps: [{ app_id: demo, android: { packages: [[a]], signer_digests: ["dddddddddddddddddddddddddddddddddddddddddddddddddddddddddddddddd"] } }]
            """#,
            expected: #"""
                his.yaml:6:46: error: 'packages' must be text, not a list
                apps: [{ app_id: demo, android: { packages: [[a]], signer_digests: ["dddddddddddddddddddddddddddddddddddddddddddddddddddddddddddddddd"] } }]
                                                             ^

                """#),
        IssuerConfigurationFault(
            "a package alone instead of a list", section: "apps",
            #"""
            apps: [{ app_id: demo, android: { packages: a, signer_digests: ["dddddddddddddddddddddddddddddddddddddddddddddddddddddddddddddddd"] } }]
            """#,
            expected: #"""
                his.yaml:6:45: error: 'packages' must be a list, not 'a'
                apps: [{ app_id: demo, android: { packages: a, signer_digests: ["dddddddddddddddddddddddddddddddddddddddddddddddddddddddddddddddd"] } }]
                                                            ^

                """#),
        IssuerConfigurationFault(
            "a digest that is too short", section: "apps",
            #"""
            apps: [{ app_id: demo, android: { packages: [a], signer_digests: ["dddddddddddddddddddddddddddddddddddddddddddddddddddddddddddddd"] } }]
            """#,
            expected: #"""
                his.yaml:6:67: error: 'signer_digests' must be 64 hexadecimal digits, not 'dddddddddddddddddddddddddddddddddddddddddddddddddddddddddddddd'
                apps: [{ app_id: demo, android: { packages: [a], signer_digests: ["dddddddddddddddddddddddddddddddddddddddddddddddddddddddddddddd"] } }]
                                                                                  ^

                """#),
        IssuerConfigurationFault(
            "a digest that is no hexadecimal", section: "apps",
            #"""
            apps: [{ app_id: demo, android: { packages: [a], signer_digests: ["dddddddddddddddddddddddddddddddddddddddddddddddddddddddddddddddx"] } }]
            """#,
            expected: #"""
                his.yaml:6:67: error: 'signer_digests' must be 64 hexadecimal digits, not 'dddddddddddddddddddddddddddddddddddddddddddddddddddddddddddddddx'
                apps: [{ app_id: demo, android: { packages: [a], signer_digests: ["dddddddddddddddddddddddddddddddddddddddddddddddddddddddddddddddx"] } }]
                                                                                  ^

                """#),
        IssuerConfigurationFault(
            "a level that Android does not have", section: "apps",
            #"""
            apps: [{ app_id: demo, android: { packages: [a], signer_digests: ["dddddddddddddddddddddddddddddddddddddddddddddddddddddddddddddddd"], security_levels: [tee, strong_box] } }]
            """#,
            expected: #"""
                his.yaml:6:159: error: 'security_levels' must be strongbox or tee, not 'strong_box', did you mean 'strongbox'?
                apps: [{ app_id: demo, android: { packages: [a], signer_digests: ["dddddddddddddddddddddddddddddddddddddddddddddddddddddddddddddddd"], security_levels: [tee, strong_box] } }]
                                                                                                                                                                              ^

                """#),
        IssuerConfigurationFault(
            "software as a level", section: "apps",
            #"""
            apps: [{ app_id: demo, android: { packages: [a], signer_digests: ["dddddddddddddddddddddddddddddddddddddddddddddddddddddddddddddddd"], security_levels: [software] } }]
            """#,
            expected: #"""
                his.yaml:6:154: error: 'security_levels' must be strongbox or tee, not 'software'
                apps: [{ app_id: demo, android: { packages: [a], signer_digests: ["dddddddddddddddddddddddddddddddddddddddddddddddddddddddddddddddd"], security_levels: [software] } }]
                                                                                                                                                                         ^

                """#),
        IssuerConfigurationFault(
            "no level at all", section: "apps",
            #"""
            apps: [{ app_id: demo, android: { packages: [a], signer_digests: ["dddddddddddddddddddddddddddddddddddddddddddddddddddddddddddddddd"], security_levels: [] } }]
            """#,
            expected: #"""
                his.yaml:6:153: error: 'security_levels' must not be empty
                apps: [{ app_id: demo, android: { packages: [a], signer_digests: ["dddddddddddddddddddddddddddddddddddddddddddddddddddddddddddddddd"], security_levels: [] } }]
                                                                                                                                                                        ^

                """#),
        IssuerConfigurationFault(
            "a boot key that is none", section: "apps",
            #"""
            apps: [{ app_id: demo, android: { packages: [a], signer_digests: ["dddddddddddddddddddddddddddddddddddddddddddddddddddddddddddddddd"], verified_boot_keys: [abc] } }]
            """#,
            expected: #"""
                his.yaml:6:157: error: 'verified_boot_keys' must be 64 hexadecimal digits, not 'abc'
                apps: [{ app_id: demo, android: { packages: [a], signer_digests: ["dddddddddddddddddddddddddddddddddddddddddddddddddddddddddddddddd"], verified_boot_keys: [abc] } }]
                                                                                                                                                                            ^

                """#),
        IssuerConfigurationFault(
            "an unknown key of android", section: "apps",
            #"""
            apps: [{ app_id: demo, android: { packages: [a], signer_digests: ["dddddddddddddddddddddddddddddddddddddddddddddddddddddddddddddddd"], verified_boot_key: [] } }]
            """#,
            expected: #"""
                his.yaml:6:136: error: unknown key 'verified_boot_key', did you mean 'verified_boot_keys'?
                apps: [{ app_id: demo, android: { packages: [a], signer_digests: ["dddddddddddddddddddddddddddddddddddddddddddddddddddddddddddddddd"], verified_boot_key: [] } }]
                                                                                                                                                       ^

                """#),
        IssuerConfigurationFault(
            "ios without anything", section: "apps",
            #"""
            apps: [{ app_id: demo, ios: {} }]
            """#,
            expected: #"""
                his.yaml:6:29: error: missing key 'team_id' in 'ios'
                apps: [{ app_id: demo, ios: {} }]
                                            ^
                his.yaml:6:29: error: missing key 'bundle_ids' in 'ios'
                apps: [{ app_id: demo, ios: {} }]
                                            ^

                """#),
        IssuerConfigurationFault(
            "a team that is too short", section: "apps",
            #"""
            apps: [{ app_id: demo, ios: { team_id: ABCDE1234, bundle_ids: [a] } }]
            """#,
            expected: #"""
                his.yaml:6:40: error: 'team_id' must be ten of A-Z 0-9, as in Apple's developer account, not 'ABCDE1234'
                apps: [{ app_id: demo, ios: { team_id: ABCDE1234, bundle_ids: [a] } }]
                                                       ^

                """#),
        IssuerConfigurationFault(
            "a team in lower case", section: "apps",
            #"""
            apps: [{ app_id: demo, ios: { team_id: abcde12345, bundle_ids: [a] } }]
            """#,
            expected: #"""
                his.yaml:6:40: error: 'team_id' must be ten of A-Z 0-9, as in Apple's developer account, not 'abcde12345'
                apps: [{ app_id: demo, ios: { team_id: abcde12345, bundle_ids: [a] } }]
                                                       ^

                """#),
        IssuerConfigurationFault(
            "no bundle", section: "apps",
            #"""
            apps: [{ app_id: demo, ios: { team_id: ABCDE12345, bundle_ids: [] } }]
            """#,
            expected: #"""
                his.yaml:6:64: error: 'bundle_ids' must not be empty
                apps: [{ app_id: demo, ios: { team_id: ABCDE12345, bundle_ids: [] } }]
                                                                               ^

                """#),
        IssuerConfigurationFault(
            "an unknown environment", section: "apps",
            #"""
            apps: [{ app_id: demo, ios: { team_id: ABCDE12345, bundle_ids: [a], environment: prod } }]
            """#,
            expected: #"""
                his.yaml:6:82: error: 'environment' must be production or development, not 'prod'
                apps: [{ app_id: demo, ios: { team_id: ABCDE12345, bundle_ids: [a], environment: prod } }]
                                                                                                 ^

                """#),
        IssuerConfigurationFault(
            "an unknown key of ios", section: "apps",
            #"""
            apps: [{ app_id: demo, ios: { team_id: ABCDE12345, bundle_ids: [a], bundle_id: b } }]
            """#,
            expected: #"""
                his.yaml:6:69: error: unknown key 'bundle_id', did you mean 'bundle_ids'?
                apps: [{ app_id: demo, ios: { team_id: ABCDE12345, bundle_ids: [a], bundle_id: b } }]
                                                                                    ^

                """#),
        IssuerConfigurationFault(
            "test without keys", section: "apps",
            #"""
            apps: [{ app_id: demo, test: {} }]
            """#,
            expected: #"""
                his.yaml:6:30: error: missing key 'authority_keys' in 'test'
                apps: [{ app_id: demo, test: {} }]
                                             ^

                """#),
        IssuerConfigurationFault(
            "test with no key", section: "apps",
            #"""
            apps: [{ app_id: demo, test: { authority_keys: [] } }]
            """#,
            expected: #"""
                his.yaml:6:48: error: 'authority_keys' must not be empty
                apps: [{ app_id: demo, test: { authority_keys: [] } }]
                                                               ^

                """#),
        IssuerConfigurationFault(
            "an authority key that is not there", section: "apps",
            #"""
            apps: [{ app_id: demo, test: { authority_keys: [none.pem] } }]
            """#,
            expected: #"""
                his.yaml:6:49: error: 'authority_keys': cannot read 'none.pem': no such file or directory
                apps: [{ app_id: demo, test: { authority_keys: [none.pem] } }]
                                                                ^

                """#),
        IssuerConfigurationFault(
            "an authority key that is no PEM", section: "apps",
            #"""
            apps: [{ app_id: demo, test: { authority_keys: [text.txt] } }]
            """#,
            expected: #"""
                his.yaml:6:49: error: 'authority_keys': 'text.txt' must hold one P-256 public key in PEM
                apps: [{ app_id: demo, test: { authority_keys: [text.txt] } }]
                                                                ^

                """#),
        IssuerConfigurationFault(
            "an authority key that is private", section: "apps",
            #"""
            apps: [{ app_id: demo, test: { authority_keys: [private.pem] } }]
            """#,
            expected: #"""
                his.yaml:6:49: error: 'authority_keys': 'private.pem' must hold one P-256 public key in PEM
                apps: [{ app_id: demo, test: { authority_keys: [private.pem] } }]
                                                                ^

                """#),
        IssuerConfigurationFault(
            "an authority key of another curve", section: "apps",
            #"""
            apps: [{ app_id: demo, test: { authority_keys: [p384.pem] } }]
            """#,
            expected: #"""
                his.yaml:6:49: error: 'authority_keys': 'p384.pem' must hold one P-256 public key in PEM
                apps: [{ app_id: demo, test: { authority_keys: [p384.pem] } }]
                                                                ^

                """#),
        IssuerConfigurationFault(
            "two authority keys in one file", section: "apps",
            #"""
            apps: [{ app_id: demo, test: { authority_keys: [two.pem] } }]
            """#,
            expected: #"""
                his.yaml:6:49: error: 'authority_keys': 'two.pem' must hold one P-256 public key in PEM
                apps: [{ app_id: demo, test: { authority_keys: [two.pem] } }]
                                                                ^

                """#),
        IssuerConfigurationFault(
            "a directory as an authority key", section: "apps",
            #"""
            apps: [{ app_id: demo, test: { authority_keys: [dir] } }]
            """#,
            expected: #"""
                his.yaml:6:49: error: 'authority_keys': cannot read 'dir': is a directory
                apps: [{ app_id: demo, test: { authority_keys: [dir] } }]
                                                                ^

                """#),
        IssuerConfigurationFault(
            "an authority key that is null", section: "apps",
            #"""
            apps: [{ app_id: demo, test: { authority_keys: [~] } }]
            """#,
            expected: #"""
                his.yaml:6:49: error: 'authority_keys' has no value
                apps: [{ app_id: demo, test: { authority_keys: [~] } }]
                                                                ^

                """#),
        IssuerConfigurationFault(
            "many faults at once", section: "apps",
            #"""
            apps: [{ app_id: demo, android: { package: [a] }, ios: { team_id: x }, test: { authority_key: k } }]
            """#,
            expected: #"""
                his.yaml:6:33: error: missing key 'packages' in 'android'
                apps: [{ app_id: demo, android: { package: [a] }, ios: { team_id: x }, test: { authority_key: k } }]
                                                ^
                his.yaml:6:33: error: missing key 'signer_digests' in 'android'
                apps: [{ app_id: demo, android: { package: [a] }, ios: { team_id: x }, test: { authority_key: k } }]
                                                ^
                his.yaml:6:35: error: unknown key 'package', did you mean 'packages'?
                apps: [{ app_id: demo, android: { package: [a] }, ios: { team_id: x }, test: { authority_key: k } }]
                                                  ^
                his.yaml:6:56: error: missing key 'bundle_ids' in 'ios'
                apps: [{ app_id: demo, android: { package: [a] }, ios: { team_id: x }, test: { authority_key: k } }]
                                                                       ^
                his.yaml:6:67: error: 'team_id' must be ten of A-Z 0-9, as in Apple's developer account, not 'x'
                apps: [{ app_id: demo, android: { package: [a] }, ios: { team_id: x }, test: { authority_key: k } }]
                                                                                  ^
                his.yaml:6:78: error: missing key 'authority_keys' in 'test'
                apps: [{ app_id: demo, android: { package: [a] }, ios: { team_id: x }, test: { authority_key: k } }]
                                                                                             ^
                his.yaml:6:80: error: unknown key 'authority_key', did you mean 'authority_keys'?
                apps: [{ app_id: demo, android: { package: [a] }, ios: { team_id: x }, test: { authority_key: k } }]
                                                                                               ^

                """#),
    ]
}
