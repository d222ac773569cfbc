// SPDX-License-Identifier: Apache-2.0

extension IssuerConfigurationFault {
    /// Sections that must be there.
    static let general: [IssuerConfigurationFault] = [
        IssuerConfigurationFault(
            "an unknown key", section: "extra",
            #"""
            stor: 1
            """#,
            expected: #"""
                his.yaml:7:1: error: unknown key 'stor', did you mean 'store'?
                stor: 1
                ^

                """#),
        IssuerConfigurationFault(
            "a duplicate key", section: "extra",
            #"""
            store: { kind: memory }
            """#,
            expected: #"""
                his.yaml:7:1: error: duplicate key 'store', first on line 5
                store: { kind: memory }
                ^

                """#),
        IssuerConfigurationFault(
            "no version", section: "version",
            #"""
            # no version
            """#,
            expected: #"""
                his.yaml:2:1: error: missing key 'version'
                listeners: [{ address: 127.0.0.1:8700 }]
                ^

                """#),
        IssuerConfigurationFault(
            "another version", section: "version",
            #"""
            version: 2
            """#,
            expected: #"""
                his.yaml:1:10: error: 'version' must be 1, not '2'
                version: 2
                         ^

                """#),
        IssuerConfigurationFault(
            "a version that is a list", section: "version",
            #"""
            version: [1]
            """#,
            expected: #"""
                his.yaml:1:10: error: 'version' must be 1, not a list
                version: [1]
                         ^

                """#),
        IssuerConfigurationFault(
            "no listeners", section: "listeners",
            #"""
            # none
            """#,
            expected: #"""
                his.yaml:1:1: error: missing key 'listeners'
                version: 1
                ^

                """#),
        IssuerConfigurationFault(
            "an empty list of listeners", section: "listeners",
            #"""
            listeners: []
            """#,
            expected: #"""
                his.yaml:2:12: error: 'listeners' must not be empty
                listeners: []
                           ^

                """#),
        IssuerConfigurationFault(
            "a listener that is text", section: "listeners",
            #"""
            listeners: [127.0.0.1:8700]
            """#,
            expected: #"""
                his.yaml:2:13: error: 'listeners' must be a mapping, not '127.0.0.1:8700'
                listeners: [127.0.0.1:8700]
                            ^

                """#),
        IssuerConfigurationFault(
            "a listener without an address", section: "listeners",
            #"""
            listeners: [{ trusted_proxies: [10.0.0.0/8] }]
            """#,
            expected: #"""
                his.yaml:2:13: error: missing key 'address' in 'listeners'
                listeners: [{ trusted_proxies: [10.0.0.0/8] }]
                            ^

                """#),
        IssuerConfigurationFault(
            "a listener without a port", section: "listeners",
            #"""
            listeners: [{ address: 127.0.0.1 }]
            """#,
            expected: #"""
                his.yaml:2:24: error: address '127.0.0.1' lacks a port, as in 127.0.0.1:8080
                listeners: [{ address: 127.0.0.1 }]
                                       ^

                """#),
        IssuerConfigurationFault(
            "two listeners alike", section: "listeners",
            #"""
            listeners: [{ address: 127.0.0.1:1 }, { address: 127.0.0.1:1 }]
            """#,
            expected: #"""
                his.yaml:2:50: error: duplicate listener, first on line 2
                listeners: [{ address: 127.0.0.1:1 }, { address: 127.0.0.1:1 }]
                                                                 ^

                """#),
        IssuerConfigurationFault(
            "a proxy block with bits beyond its prefix", section: "listeners",
            #"""
            listeners: [{ address: 127.0.0.1:1, trusted_proxies: [10.0.0.1/8] }]
            """#,
            expected: #"""
                his.yaml:2:55: error: '10.0.0.1/8' has bits set beyond its prefix length
                listeners: [{ address: 127.0.0.1:1, trusted_proxies: [10.0.0.1/8] }]
                                                                      ^

                """#),
        IssuerConfigurationFault(
            "TLS without a certificate", section: "listeners",
            #"""
            listeners: [{ address: 127.0.0.1:1, tls: { key: k } }]
            """#,
            expected: #"""
                his.yaml:2:42: error: missing key 'certificate' in 'tls'
                listeners: [{ address: 127.0.0.1:1, tls: { key: k } }]
                                                         ^
                his.yaml:2:49: error: 'key': cannot read 'k': no such file or directory
                listeners: [{ address: 127.0.0.1:1, tls: { key: k } }]
                                                                ^

                """#),
        IssuerConfigurationFault(
            "an unknown key of a listener", section: "listeners",
            #"""
            listeners: [{ adress: 127.0.0.1:1 }]
            """#,
            expected: #"""
                his.yaml:2:13: error: missing key 'address' in 'listeners'
                listeners: [{ adress: 127.0.0.1:1 }]
                            ^
                his.yaml:2:15: error: unknown key 'adress', did you mean 'address'?
                listeners: [{ adress: 127.0.0.1:1 }]
                              ^

                """#),
        IssuerConfigurationFault(
            "no issuer", section: "issuer",
            #"""
            # none
            """#,
            expected: #"""
                his.yaml:1:1: error: missing key 'issuer'
                version: 1
                ^

                """#),
        IssuerConfigurationFault(
            "an empty issuer", section: "issuer",
            #"""
            issuer: ""
            """#,
            expected: #"""
                his.yaml:3:9: error: 'issuer' must not be empty
                issuer: ""
                        ^

                """#),
        IssuerConfigurationFault(
            "an issuer that is null", section: "issuer",
            #"""
            issuer:
            """#,
            expected: #"""
                his.yaml:3:8: error: 'issuer' has no value
                issuer:
                       ^

                """#),
        IssuerConfigurationFault(
            "an issuer that is a mapping", section: "issuer",
            #"""
            issuer: { url: x }
            """#,
            expected: #"""
                his.yaml:3:9: error: 'issuer' must be text, not a mapping
                issuer: { url: x }
                        ^

                """#),
        IssuerConfigurationFault(
            "an issuer that is too long", section: "issuer",
            #"""
            issuer: iiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiii
            """#,
            expected: #"""
                his.yaml:3:9: error: 'issuer' must be at most 512 octets, not 'iiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiii...'
                issuer: iiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiii
                        ^

                """#),
        IssuerConfigurationFault(
            "an issuer with a line break", section: "issuer",
            #"""
            issuer: "a\nb"
            """#,
            expected: #"""
                his.yaml:3:9: error: 'issuer' must be text without control characters, not 'a?b'
                issuer: "a\nb"
                        ^

                """#),
        IssuerConfigurationFault(
            "no signing keys", section: "signing_keys",
            #"""
            # none
            """#,
            expected: #"""
                his.yaml:1:1: error: missing key 'signing_keys'
                version: 1
                ^

                """#),
        IssuerConfigurationFault(
            "signing keys that are text", section: "signing_keys",
            #"""
            signing_keys: /keys
            """#,
            expected: #"""
                his.yaml:4:15: error: 'signing_keys' must be a mapping, not '/keys'
                signing_keys: /keys
                              ^

                """#),
        IssuerConfigurationFault(
            "no directory of signing keys", section: "signing_keys",
            #"""
            signing_keys: {}
            """#,
            expected: #"""
                his.yaml:4:15: error: missing key 'directory' in 'signing_keys'
                signing_keys: {}
                              ^

                """#),
        IssuerConfigurationFault(
            "an empty directory", section: "signing_keys",
            #"""
            signing_keys: { directory: "" }
            """#,
            expected: #"""
                his.yaml:4:28: error: 'directory' must not be empty
                signing_keys: { directory: "" }
                                           ^

                """#),
        IssuerConfigurationFault(
            "an unknown key of signing_keys", section: "signing_keys",
            #"""
            signing_keys: { directory: keys, directroy: x }
            """#,
            expected: #"""
                his.yaml:4:34: error: unknown key 'directroy', did you mean 'directory'?
                signing_keys: { directory: keys, directroy: x }
                                                 ^

                """#),
        IssuerConfigurationFault(
            "no store", section: "store",
            #"""
            # none
            """#,
            expected: #"""
                his.yaml:1:1: error: missing key 'store'
                version: 1
                ^

                """#),
        IssuerConfigurationFault(
            "a store without a kind", section: "store",
            #"""
            store: {}
            """#,
            expected: #"""
                his.yaml:5:8: error: missing key 'kind' in 'store'
                store: {}
                       ^

                """#),
        IssuerConfigurationFault(
            "an unknown kind of store", section: "store",
            #"""
            store: { kind: sqlit }
            """#,
            expected: #"""
                his.yaml:5:16: error: 'kind' must be memory, sqlite or redis, not 'sqlit', did you mean 'sqlite'?
                store: { kind: sqlit }
                               ^

                """#),
        IssuerConfigurationFault(
            "a store in memory with a path", section: "store",
            #"""
            store: { kind: memory, path: x }
            """#,
            expected: #"""
                his.yaml:5:24: error: 'path' needs kind sqlite
                store: { kind: memory, path: x }
                                       ^

                """#),
        IssuerConfigurationFault(
            "a store on disk without a path", section: "store",
            #"""
            store: { kind: sqlite }
            """#,
            expected: #"""
                his.yaml:5:8: error: store kind sqlite needs 'path'
                store: { kind: sqlite }
                       ^

                """#),
        IssuerConfigurationFault(
            "a store on disk with an empty path", section: "store",
            #"""
            store: { kind: sqlite, path: "" }
            """#,
            expected: #"""
                his.yaml:5:30: error: 'path' must not be empty
                store: { kind: sqlite, path: "" }
                                             ^

                """#),
        IssuerConfigurationFault(
            "a redis store", section: "store",
            #"""
            store: { kind: redis, url: "redis://localhost" }
            """#,
            expected: #"""
                his.yaml:5:16: error: store kind 'redis' is not available in this version
                store: { kind: redis, url: "redis://localhost" }
                               ^

                """#),
        IssuerConfigurationFault(
            "a redis store that is unknown otherwise", section: "store",
            #"""
            store: { kind: redis, uri: x }
            """#,
            expected: #"""
                his.yaml:5:16: error: store kind 'redis' is not available in this version
                store: { kind: redis, uri: x }
                               ^
                his.yaml:5:23: error: unknown key 'uri', did you mean 'url'?
                store: { kind: redis, uri: x }
                                      ^

                """#),
    ]
}
