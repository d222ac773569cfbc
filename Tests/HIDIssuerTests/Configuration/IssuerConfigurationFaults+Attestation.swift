// SPDX-License-Identifier: Apache-2.0

extension IssuerConfigurationFault {
    /// Roots, switches and the revocation list.
    static let attestation: [IssuerConfigurationFault] = [
        IssuerConfigurationFault(
            "an attestation that is a list", section: "extra",
            #"""
            attestation: []
            """#,
            expected: #"""
                his.yaml:7:14: error: 'attestation' must be a mapping, not a list
                attestation: []
                             ^

                """#),
        IssuerConfigurationFault(
            "an unknown key of attestation", section: "extra",
            #"""
            attestation: { android_root: [builtin] }
            """#,
            expected: #"""
                his.yaml:7:16: error: unknown key 'android_root', did you mean 'android_roots'?
                attestation: { android_root: [builtin] }
                               ^

                """#),
        IssuerConfigurationFault(
            "roots that are text", section: "extra",
            #"""
            attestation: { android_roots: builtin }
            """#,
            expected: #"""
                his.yaml:7:31: error: 'android_roots' must be a list, not 'builtin'
                attestation: { android_roots: builtin }
                                              ^

                """#),
        IssuerConfigurationFault(
            "no roots at all", section: "extra",
            #"""
            attestation: { android_roots: [] }
            """#,
            expected: #"""
                his.yaml:7:31: error: 'android_roots' must not be empty
                attestation: { android_roots: [] }
                                              ^

                """#),
        IssuerConfigurationFault(
            "a root that is not there", section: "extra",
            #"""
            attestation: { ios_roots: [builtin, none.pem] }
            """#,
            expected: #"""
                his.yaml:7:37: error: 'ios_roots': cannot read 'none.pem': no such file or directory
                attestation: { ios_roots: [builtin, none.pem] }
                                                    ^

                """#),
        IssuerConfigurationFault(
            "a root that is no PEM", section: "extra",
            #"""
            attestation: { android_roots: [text.txt] }
            """#,
            expected: #"""
                his.yaml:7:32: error: 'android_roots': 'text.txt' must hold certificates in PEM
                attestation: { android_roots: [text.txt] }
                                               ^

                """#),
        IssuerConfigurationFault(
            "a root that is a key", section: "extra",
            #"""
            attestation: { android_roots: [authority.pem] }
            """#,
            expected: #"""
                his.yaml:7:32: error: 'android_roots': 'authority.pem' must hold certificates in PEM
                attestation: { android_roots: [authority.pem] }
                                               ^

                """#),
        IssuerConfigurationFault(
            "a root that is no certificate inside", section: "extra",
            #"""
            attestation: { ios_roots: [bad.pem] }
            """#,
            expected: #"""
                his.yaml:7:28: error: 'ios_roots': certificate 1 of 'bad.pem' cannot be read
                attestation: { ios_roots: [bad.pem] }
                                           ^

                """#),
        IssuerConfigurationFault(
            "a root that is misspelt", section: "extra",
            #"""
            attestation: { ios_roots: [buildin] }
            """#,
            expected: #"""
                his.yaml:7:28: error: 'ios_roots': cannot read 'buildin': no such file or directory
                attestation: { ios_roots: [buildin] }
                                           ^

                """#),
        IssuerConfigurationFault(
            "a root that is a mapping", section: "extra",
            #"""
            attestation: { ios_roots: [{ file: root.pem }] }
            """#,
            expected: #"""
                his.yaml:7:28: error: 'ios_roots' must be text, not a mapping
                attestation: { ios_roots: [{ file: root.pem }] }
                                           ^

                """#),
        IssuerConfigurationFault(
            "a switch that is a word", section: "extra",
            #"""
            attestation: { attest_key: yes }
            """#,
            expected: #"""
                his.yaml:7:28: error: 'attest_key' must be true or false, not 'yes'
                attestation: { attest_key: yes }
                                           ^

                """#),
        IssuerConfigurationFault(
            "another switch that is a word", section: "extra",
            #"""
            attestation: { sdk_keys_only: "on" }
            """#,
            expected: #"""
                his.yaml:7:31: error: 'sdk_keys_only' must be true or false, not 'on'
                attestation: { sdk_keys_only: "on" }
                                              ^

                """#),
        IssuerConfigurationFault(
            "a revocation list without url and file", section: "extra",
            #"""
            attestation: { revocation_list: { max_age: 1d } }
            """#,
            expected: #"""
                his.yaml:7:33: error: 'revocation_list' needs 'url' or 'file'
                attestation: { revocation_list: { max_age: 1d } }
                                                ^

                """#),
        IssuerConfigurationFault(
            "a revocation list that is text", section: "extra",
            #"""
            attestation: { revocation_list: list.json }
            """#,
            expected: #"""
                his.yaml:7:33: error: 'revocation_list' must be a mapping, not 'list.json'
                attestation: { revocation_list: list.json }
                                                ^

                """#),
        IssuerConfigurationFault(
            "a file that is not there and has no url", section: "extra",
            #"""
            attestation: { revocation_list: { file: none.json } }
            """#,
            expected: #"""
                his.yaml:7:41: error: 'file': cannot read 'none.json': no such file or directory
                attestation: { revocation_list: { file: none.json } }
                                                        ^

                """#),
        IssuerConfigurationFault(
            "a file that is a directory", section: "extra",
            #"""
            attestation: { revocation_list: { file: dir } }
            """#,
            expected: #"""
                his.yaml:7:41: error: 'file': cannot read 'dir': is a directory
                attestation: { revocation_list: { file: dir } }
                                                        ^

                """#),
        IssuerConfigurationFault(
            "a url over plain http", section: "extra",
            #"""
            attestation: { revocation_list: { url: "http://lists.example.com/status" } }
            """#,
            expected: #"""
                his.yaml:7:40: error: 'url' of 'revocation_list' must be https unless its host is a loopback address
                attestation: { revocation_list: { url: "http://lists.example.com/status" } }
                                                       ^

                """#),
        IssuerConfigurationFault(
            "a url that is almost loopback", section: "extra",
            #"""
            attestation: { revocation_list: { url: "http://127.0.0.1.example.com/" } }
            """#,
            expected: #"""
                his.yaml:7:40: error: 'url' of 'revocation_list' must be https unless its host is a loopback address
                attestation: { revocation_list: { url: "http://127.0.0.1.example.com/" } }
                                                       ^

                """#),
        IssuerConfigurationFault(
            "a url of another scheme", section: "extra",
            #"""
            attestation: { revocation_list: { url: "ftp://localhost/" } }
            """#,
            expected: #"""
                his.yaml:7:40: error: URL 'ftp://localhost/' must start with http:// or https://
                attestation: { revocation_list: { url: "ftp://localhost/" } }
                                                       ^

                """#),
        IssuerConfigurationFault(
            "a url with a user", section: "extra",
            #"""
            attestation: { revocation_list: { url: "https://me@localhost/" } }
            """#,
            expected: #"""
                his.yaml:7:40: error: URL 'https://me@localhost/' must not hold a user name
                attestation: { revocation_list: { url: "https://me@localhost/" } }
                                                       ^

                """#),
        IssuerConfigurationFault(
            "an empty url", section: "extra",
            #"""
            attestation: { revocation_list: { url: "" } }
            """#,
            expected: #"""
                his.yaml:7:40: error: URL '' must start with http:// or https://
                attestation: { revocation_list: { url: "" } }
                                                       ^

                """#),
        IssuerConfigurationFault(
            "an age of nothing", section: "extra",
            #"""
            attestation: { revocation_list: { file: list.json, max_age: 0s } }
            """#,
            expected: #"""
                his.yaml:7:61: error: 'max_age' must be a duration from 1ms to 365d, not '0s'
                attestation: { revocation_list: { file: list.json, max_age: 0s } }
                                                                            ^

                """#),
        IssuerConfigurationFault(
            "an unknown word for a stale list", section: "extra",
            #"""
            attestation: { revocation_list: { file: list.json, when_stale: opened } }
            """#,
            expected: #"""
                his.yaml:7:64: error: 'when_stale' must be closed or open, not 'opened', did you mean 'open'?
                attestation: { revocation_list: { file: list.json, when_stale: opened } }
                                                                               ^

                """#),
        IssuerConfigurationFault(
            "an unknown key of the revocation list", section: "extra",
            #"""
            attestation: { revocation_list: { file: list.json, maxage: 1d } }
            """#,
            expected: #"""
                his.yaml:7:52: error: unknown key 'maxage', did you mean 'max_age'?
                attestation: { revocation_list: { file: list.json, maxage: 1d } }
                                                                   ^

                """#),
    ]
}
