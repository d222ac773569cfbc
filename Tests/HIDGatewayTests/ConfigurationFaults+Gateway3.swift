// SPDX-License-Identifier: Apache-2.0

extension ConfigurationFault {
    /// Faults of gateway.yaml.
    static let gateway3: [ConfigurationFault] = [
        ConfigurationFault(
            "a session grouping of a later version",
            gateway: #"""
                version: 1
                listeners: [{ address: 127.0.0.1:8080 }]
                upstreams: { api: { url: "http://127.0.0.1:9000" } }
                issuers: [{ issuer: i, audience: [a], jwks: { url: "https://i.example/jwks" } }]
                defaults: { upstream: api }
                sessions: { group_by: [ip] }

                """#,
            expected: #"""
                gateway.yaml:6:23: error: 'group_by' other than ["header X-HID-Token -> jwt -> jwt_payload -> property hid"] is not available in this version
                sessions: { group_by: [ip] }
                                      ^

                """#),
        ConfigurationFault(
            "a store of a later version",
            gateway: #"""
                version: 1
                listeners: [{ address: 127.0.0.1:8080 }]
                upstreams: { api: { url: "http://127.0.0.1:9000" } }
                issuers: [{ issuer: i, audience: [a], jwks: { url: "https://i.example/jwks" } }]
                defaults: { upstream: api }
                store: { kind: sqlite, path: /var/lib/x.db }

                """#,
            expected: #"""
                gateway.yaml:6:16: error: store kind 'sqlite' is not available in this version
                store: { kind: sqlite, path: /var/lib/x.db }
                               ^

                """#),
        ConfigurationFault(
            "an unknown store",
            gateway: #"""
                version: 1
                listeners: [{ address: 127.0.0.1:8080 }]
                upstreams: { api: { url: "http://127.0.0.1:9000" } }
                issuers: [{ issuer: i, audience: [a], jwks: { url: "https://i.example/jwks" } }]
                defaults: { upstream: api }
                store: { kind: redsi }

                """#,
            expected: #"""
                gateway.yaml:6:16: error: 'kind' must be memory, sqlite or redis, not 'redsi', did you mean 'redis'?
                store: { kind: redsi }
                               ^

                """#),
        ConfigurationFault(
            "a memory store with a path",
            gateway: #"""
                version: 1
                listeners: [{ address: 127.0.0.1:8080 }]
                upstreams: { api: { url: "http://127.0.0.1:9000" } }
                issuers: [{ issuer: i, audience: [a], jwks: { url: "https://i.example/jwks" } }]
                defaults: { upstream: api }
                store: { kind: memory, path: /x }

                """#,
            expected: #"""
                gateway.yaml:6:24: error: 'path' is not available in this version
                store: { kind: memory, path: /x }
                                       ^

                """#),
        ConfigurationFault(
            "an open admin address without token",
            gateway: #"""
                version: 1
                listeners: [{ address: 127.0.0.1:8080 }]
                upstreams: { api: { url: "http://127.0.0.1:9000" } }
                issuers: [{ issuer: i, audience: [a], jwks: { url: "https://i.example/jwks" } }]
                defaults: { upstream: api }
                admin: { address: 0.0.0.0:8701 }

                """#,
            expected: #"""
                gateway.yaml:6:19: error: an admin address that is not loopback needs 'token_file'
                admin: { address: 0.0.0.0:8701 }
                                  ^

                """#),
        ConfigurationFault(
            "an admin address that is a listener",
            gateway: #"""
                version: 1
                listeners: [{ address: 127.0.0.1:8080 }]
                upstreams: { api: { url: "http://127.0.0.1:9000" } }
                issuers: [{ issuer: i, audience: [a], jwks: { url: "https://i.example/jwks" } }]
                defaults: { upstream: api }
                admin: { address: "127.0.0.1:8080" }

                """#,
            expected: #"""
                gateway.yaml:6:19: error: the admin address is also the address of a listener
                admin: { address: "127.0.0.1:8080" }
                                  ^

                """#),
        ConfigurationFault(
            "an admin token file that is not there",
            gateway: #"""
                version: 1
                listeners: [{ address: 127.0.0.1:8080 }]
                upstreams: { api: { url: "http://127.0.0.1:9000" } }
                issuers: [{ issuer: i, audience: [a], jwks: { url: "https://i.example/jwks" } }]
                defaults: { upstream: api }
                admin: { address: "127.0.0.1:8701", token_file: /no/such }

                """#,
            expected: #"""
                gateway.yaml:6:49: error: 'token_file': cannot read '/no/such': no such file or directory
                admin: { address: "127.0.0.1:8701", token_file: /no/such }
                                                                ^

                """#),
        ConfigurationFault(
            "an admin section without value",
            gateway: #"""
                version: 1
                listeners: [{ address: 127.0.0.1:8080 }]
                upstreams: { api: { url: "http://127.0.0.1:9000" } }
                issuers: [{ issuer: i, audience: [a], jwks: { url: "https://i.example/jwks" } }]
                defaults: { upstream: api }
                admin:

                """#,
            expected: #"""
                gateway.yaml:6:7: error: 'admin' has no value
                admin:
                      ^

                """#),
        ConfigurationFault(
            "a faulty access log",
            gateway: #"""
                version: 1
                listeners: [{ address: 127.0.0.1:8080 }]
                upstreams: { api: { url: "http://127.0.0.1:9000" } }
                issuers: [{ issuer: i, audience: [a], jwks: { url: "https://i.example/jwks" } }]
                defaults: { upstream: api }
                access_log: { to: stdrr }

                """#,
            expected: #"""
                gateway.yaml:6:19: error: 'to' must be stderr, stdout, off or a path with a '/', not 'stdrr', did you mean 'stderr'?
                access_log: { to: stdrr }
                                  ^

                """#),
        ConfigurationFault(
            "faulty limits",
            gateway: #"""
                version: 1
                listeners: [{ address: 127.0.0.1:8080 }]
                upstreams: { api: { url: "http://127.0.0.1:9000" } }
                issuers: [{ issuer: i, audience: [a], jwks: { url: "https://i.example/jwks" } }]
                defaults: { upstream: api }
                limits:
                  header_bytes: 64kb
                  header_fields: 1e3
                  signed_body: 1.5MiB
                  connections: 010
                  per_client: many
                  failed_verifications: { per_client: 0, when: overload }

                """#,
            expected: #"""
                gateway.yaml:7:17: error: 'header_bytes' must be a size like 64KiB, 1MiB, 10MB or 1GiB, not '64kb'
                  header_bytes: 64kb
                                ^
                gateway.yaml:8:18: error: 'header_fields' must be a whole number from 1 to 10000, not '1e3'
                  header_fields: 1e3
                                 ^
                gateway.yaml:9:16: error: 'signed_body' must be a size like 64KiB, 1MiB, 10MB or 1GiB, not '1.5MiB'
                  signed_body: 1.5MiB
                               ^
                gateway.yaml:10:16: error: 'connections' must be a whole number from 1 to 1000000, not '010'
                  connections: 010
                               ^
                gateway.yaml:11:15: error: 'per_client' must be a whole number from 1 to 1000000, not 'many'
                  per_client: many
                              ^
                gateway.yaml:12:39: error: 'per_client' must be a whole number from 1 to 1000000, not '0'
                  failed_verifications: { per_client: 0, when: overload }
                                                      ^
                gateway.yaml:12:48: error: 'when' must be always, overloaded or off, not 'overload', did you mean 'overloaded'?
                  failed_verifications: { per_client: 0, when: overload }
                                                               ^

                """#),
        ConfigurationFault(
            "a size that overflows",
            gateway: #"""
                version: 1
                listeners: [{ address: 127.0.0.1:8080 }]
                upstreams: { api: { url: "http://127.0.0.1:9000" } }
                issuers: [{ issuer: i, audience: [a], jwks: { url: "https://i.example/jwks" } }]
                defaults: { upstream: api }
                limits: { body: 99999999999GiB }

                """#,
            expected: #"""
                gateway.yaml:6:17: error: 'body' must be a size like 64KiB, 1MiB, 10MB or 1GiB, not '99999999999GiB'
                limits: { body: 99999999999GiB }
                                ^

                """#),
        ConfigurationFault(
            "faulty timeouts",
            gateway: #"""
                version: 1
                listeners: [{ address: 127.0.0.1:8080 }]
                upstreams: { api: { url: "http://127.0.0.1:9000" } }
                issuers: [{ issuer: i, audience: [a], jwks: { url: "https://i.example/jwks" } }]
                defaults: { upstream: api }
                timeouts: { header: 10 s, body_idle: 10sec, keep_alive: [60s], drain: 0s }

                """#,
            expected: #"""
                gateway.yaml:6:21: error: 'header' must be a duration like 250ms, 10s, 5m, 1h or 7d, not '10 s'
                timeouts: { header: 10 s, body_idle: 10sec, keep_alive: [60s], drain: 0s }
                                    ^
                gateway.yaml:6:38: error: 'body_idle' must be a duration like 250ms, 10s, 5m, 1h or 7d, not '10sec'
                timeouts: { header: 10 s, body_idle: 10sec, keep_alive: [60s], drain: 0s }
                                                     ^
                gateway.yaml:6:57: error: 'keep_alive' must be a duration like 250ms, 10s, 5m, 1h or 7d, not a list
                timeouts: { header: 10 s, body_idle: 10sec, keep_alive: [60s], drain: 0s }
                                                                        ^
                gateway.yaml:6:71: error: 'drain' must be a duration from 1ms to 365d, not '0s'
                timeouts: { header: 10 s, body_idle: 10sec, keep_alive: [60s], drain: 0s }
                                                                                      ^

                """#),
        ConfigurationFault(
            "faulty loops and state directory",
            gateway: #"""
                version: 1
                listeners: [{ address: 127.0.0.1:8080 }]
                upstreams: { api: { url: "http://127.0.0.1:9000" } }
                issuers: [{ issuer: i, audience: [a], jwks: { url: "https://i.example/jwks" } }]
                defaults: { upstream: api }
                loops: -1
                state_directory: state

                """#,
            expected: #"""
                gateway.yaml:6:8: error: 'loops' must be a whole number from 0 to 256, not '-1'
                loops: -1
                       ^
                gateway.yaml:7:18: error: 'state_directory' must be an absolute path, not 'state'
                state_directory: state
                                 ^

                """#),
        ConfigurationFault(
            "patterns that match nothing",
            gateway: #"""
                version: 1
                listeners: [{ address: 127.0.0.1:8080 }]
                upstreams: { api: { url: "http://127.0.0.1:9000" } }
                issuers: [{ issuer: i, audience: [a], jwks: { url: "https://i.example/jwks" } }]
                defaults: { upstream: api }
                rules: ["rules.d/*.yaml", "none-*.yaml", missing.yaml, "*/x.yaml"]

                """#,
            expected: #"""
                gateway.yaml:6:9: warning: no file matches 'rules.d/*.yaml'
                rules: ["rules.d/*.yaml", "none-*.yaml", missing.yaml, "*/x.yaml"]
                        ^
                gateway.yaml:6:27: warning: no file matches 'none-*.yaml'
                rules: ["rules.d/*.yaml", "none-*.yaml", missing.yaml, "*/x.yaml"]
                                          ^
                gateway.yaml:6:42: error: cannot read 'missing.yaml': no such file or directory
                rules: ["rules.d/*.yaml", "none-*.yaml", missing.yaml, "*/x.yaml"]
                                                         ^
                gateway.yaml:6:56: error: pattern '*/x.yaml' may hold '*' only in its last part
                rules: ["rules.d/*.yaml", "none-*.yaml", missing.yaml, "*/x.yaml"]
                                                                       ^

                """#),
        ConfigurationFault(
            "a rule file named twice",
            gateway: #"""
                version: 1
                listeners: [{ address: 127.0.0.1:8080 }]
                upstreams: { api: { url: "http://127.0.0.1:9000" } }
                issuers: [{ issuer: i, audience: [a], jwks: { url: "https://i.example/jwks" } }]
                defaults: { upstream: api }
                rules: ["r.yaml", "r*.yaml"]

                """#,
            rules: #"""
                routes: []

                """#,
            expected: #"""
                gateway.yaml:6:19: warning: 'r.yaml' is already loaded by an earlier pattern
                rules: ["r.yaml", "r*.yaml"]
                                  ^

                """#),
        ConfigurationFault(
            "a state directory that is a list",
            gateway: #"""
                version: 1
                listeners: [{ address: 127.0.0.1:8080 }]
                upstreams: { api: { url: "http://127.0.0.1:9000" } }
                issuers: [{ issuer: i, audience: [a], jwks: { url: "https://i.example/jwks" } }]
                defaults: { upstream: api }
                state_directory: [a]

                """#,
            expected: #"""
                gateway.yaml:6:18: error: 'state_directory' must be text, not a list
                state_directory: [a]
                                 ^

                """#),
        ConfigurationFault(
            "an unknown issuer key",
            gateway: #"""
                version: 1
                listeners: [{ address: 127.0.0.1:8080 }]
                upstreams: { api: { url: "http://127.0.0.1:9000" } }
                issuers: [{ isuer: i, audience: [a], jwks: { url: "https://i/j" } }]
                defaults: { upstream: api }

                """#,
            expected: #"""
                gateway.yaml:4:11: error: missing key 'issuer' in 'issuers'
                issuers: [{ isuer: i, audience: [a], jwks: { url: "https://i/j" } }]
                          ^
                gateway.yaml:4:13: error: unknown key 'isuer', did you mean 'issuer'?
                issuers: [{ isuer: i, audience: [a], jwks: { url: "https://i/j" } }]
                            ^

                """#),
        ConfigurationFault(
            "no white space where it belongs",
            gateway: #"""
                version: 1
                listeners: [{ address: 127.0.0.1:8080 }]
                upstreams: { api: { url: "http://127.0.0.1:9000" } }
                issuers: [{ issuer: i, audience: [a], jwks: { url: "https://i.example/jwks" } }]
                defaults: { upstream: api }
                loops:0

                """#,
            expected: #"""
                gateway.yaml:6:1: error: could not find expected ':' while scanning a simple key
                loops:0
                ^

                """#),
    ]
}
