// SPDX-License-Identifier: Apache-2.0

extension ConfigurationFault {
    /// Faults of gateway.yaml.
    static let gateway2: [ConfigurationFault] = [
        ConfigurationFault(
            "an upstream with a user name",
            gateway: #"""
                version: 1
                listeners: [{ address: 127.0.0.1:8080 }]
                upstreams: { api: { url: "http://me@127.0.0.1:9000" } }
                issuers: [{ issuer: i, audience: [a], jwks: { url: "https://i.example/jwks" } }]
                defaults: { upstream: api }

                """#,
            expected: #"""
                gateway.yaml:3:26: error: URL 'http://me@127.0.0.1:9000' must not hold a user name
                upstreams: { api: { url: "http://me@127.0.0.1:9000" } }
                                         ^

                """#),
        ConfigurationFault(
            "an upstream on port 0",
            gateway: #"""
                version: 1
                listeners: [{ address: 127.0.0.1:8080 }]
                upstreams: { api: { url: "http://127.0.0.1:0" } }
                issuers: [{ issuer: i, audience: [a], jwks: { url: "https://i.example/jwks" } }]
                defaults: { upstream: api }

                """#,
            expected: #"""
                gateway.yaml:3:26: error: URL 'http://127.0.0.1:0' needs a port from 1 to 65535
                upstreams: { api: { url: "http://127.0.0.1:0" } }
                                         ^

                """#),
        ConfigurationFault(
            "an upstream with tls but http",
            gateway: #"""
                version: 1
                listeners: [{ address: 127.0.0.1:8080 }]
                upstreams: { api: { url: "http://127.0.0.1:9000", tls: { verify: true } } }
                issuers: [{ issuer: i, audience: [a], jwks: { url: "https://i.example/jwks" } }]
                defaults: { upstream: api }

                """#,
            expected: #"""
                gateway.yaml:3:51: error: 'tls' needs an https URL
                upstreams: { api: { url: "http://127.0.0.1:9000", tls: { verify: true } } }
                                                                  ^

                """#),
        ConfigurationFault(
            "an upstream that is not verified",
            gateway: #"""
                version: 1
                listeners: [{ address: 127.0.0.1:8080 }]
                upstreams: { api: { url: "https://127.0.0.1:9000", tls: { verify: false } } }
                issuers: [{ issuer: i, audience: [a], jwks: { url: "https://i.example/jwks" } }]
                defaults: { upstream: api }

                """#,
            expected: #"""
                gateway.yaml:3:67: warning: the certificate of this upstream is not verified
                upstreams: { api: { url: "https://127.0.0.1:9000", tls: { verify: false } } }
                                                                                  ^

                """#),
        ConfigurationFault(
            "an upstream whose CA is not there",
            gateway: #"""
                version: 1
                listeners: [{ address: 127.0.0.1:8080 }]
                upstreams: { api: { url: "https://a.example", tls: { ca: no-such.pem } } }
                issuers: [{ issuer: i, audience: [a], jwks: { url: "https://i.example/jwks" } }]
                defaults: { upstream: api }

                """#,
            expected: #"""
                gateway.yaml:3:58: error: 'ca': cannot read 'no-such.pem': no such file or directory
                upstreams: { api: { url: "https://a.example", tls: { ca: no-such.pem } } }
                                                                         ^

                """#),
        ConfigurationFault(
            "an upstream with a space in its name",
            gateway: #"""
                version: 1
                listeners: [{ address: 127.0.0.1:8080 }]
                upstreams: { "my api": { url: "http://127.0.0.1:9000" } }
                issuers: [{ issuer: i, audience: [a], jwks: { url: "https://i.example/jwks" } }]
                defaults: { upstream: my api }

                """#,
            expected: #"""
                gateway.yaml:3:14: error: the name of an upstream must be 1 to 64 letters, digits, '-', '_' or '.', not 'my api'
                upstreams: { "my api": { url: "http://127.0.0.1:9000" } }
                             ^

                """#),
        ConfigurationFault(
            "an upstream with times that are none",
            gateway: #"""
                version: 1
                listeners: [{ address: 127.0.0.1:8080 }]
                upstreams:
                  api:
                    url: http://127.0.0.1:9000
                    connect_timeout: 2
                    response_timeout: 0s
                    idle_timeout: -4s
                    max_connections: 0
                issuers: [{ issuer: i, audience: [a], jwks: { url: "https://i.example/jwks" } }]
                defaults: { upstream: api }

                """#,
            expected: #"""
                gateway.yaml:6:22: error: 'connect_timeout' must be a duration like 250ms, 10s, 5m, 1h or 7d, not '2'
                    connect_timeout: 2
                                     ^
                gateway.yaml:7:23: error: 'response_timeout' must be a duration from 1ms to 365d, not '0s'
                    response_timeout: 0s
                                      ^
                gateway.yaml:8:19: error: 'idle_timeout' must be a duration like 250ms, 10s, 5m, 1h or 7d, not '-4s'
                    idle_timeout: -4s
                                  ^
                gateway.yaml:9:22: error: 'max_connections' must be a whole number from 1 to 65535, not '0'
                    max_connections: 0
                                     ^

                """#),
        ConfigurationFault(
            "an unknown upstream with a near name",
            gateway: #"""
                version: 1
                listeners: [{ address: 127.0.0.1:8080 }]
                upstreams: { api: { url: "http://127.0.0.1:9000" } }
                issuers: [{ issuer: i, audience: [a], jwks: { url: "https://i.example/jwks" } }]
                defaults: { upstream: apo }

                """#,
            expected: #"""
                gateway.yaml:5:23: error: unknown upstream 'apo', did you mean 'api'?
                defaults: { upstream: apo }
                                      ^

                """#),
        ConfigurationFault(
            "no upstream in the defaults",
            gateway: #"""
                version: 1
                listeners: [{ address: 127.0.0.1:8080 }]
                upstreams: { api: { url: "http://127.0.0.1:9000" } }
                issuers: [{ issuer: i, audience: [a], jwks: { url: "https://i.example/jwks" } }]
                defaults: { mode: block }

                """#,
            expected: #"""
                gateway.yaml:5:11: error: missing key 'upstream' in 'defaults'
                defaults: { mode: block }
                          ^

                """#),
        ConfigurationFault(
            "an issuer without its keys",
            gateway: #"""
                version: 1
                listeners: [{ address: 127.0.0.1:8080 }]
                upstreams: { api: { url: "http://127.0.0.1:9000" } }
                issuers: [{ issuer: i, audience: [a] }]
                defaults: { upstream: api }

                """#,
            expected: #"""
                gateway.yaml:4:11: error: missing key 'jwks' in 'issuers'
                issuers: [{ issuer: i, audience: [a] }]
                          ^

                """#),
        ConfigurationFault(
            "an issuer with an empty audience",
            gateway: #"""
                version: 1
                listeners: [{ address: 127.0.0.1:8080 }]
                upstreams: { api: { url: "http://127.0.0.1:9000" } }
                issuers: [{ issuer: i, audience: [], jwks: { url: "https://i/j" } }]
                defaults: { upstream: api }

                """#,
            expected: #"""
                gateway.yaml:4:34: error: 'audience' must not be empty
                issuers: [{ issuer: i, audience: [], jwks: { url: "https://i/j" } }]
                                                 ^

                """#),
        ConfigurationFault(
            "an issuer with one word as audience",
            gateway: #"""
                version: 1
                listeners: [{ address: 127.0.0.1:8080 }]
                upstreams: { api: { url: "http://127.0.0.1:9000" } }
                issuers: [{ issuer: i, audience: a, jwks: { url: "https://i/j" } }]
                defaults: { upstream: api }

                """#,
            expected: #"""
                gateway.yaml:4:34: error: 'audience' must be a list, not 'a'
                issuers: [{ issuer: i, audience: a, jwks: { url: "https://i/j" } }]
                                                 ^

                """#),
        ConfigurationFault(
            "a key set over http",
            gateway: #"""
                version: 1
                listeners: [{ address: 127.0.0.1:8080 }]
                upstreams: { api: { url: "http://127.0.0.1:9000" } }
                issuers: [{ issuer: i, audience: [a], jwks: { url: "http://i.example/jwks" } }]
                defaults: { upstream: api }

                """#,
            expected: #"""
                gateway.yaml:4:52: error: 'url' of 'jwks' must be https unless its host is a loopback address
                issuers: [{ issuer: i, audience: [a], jwks: { url: "http://i.example/jwks" } }]
                                                                   ^

                """#),
        ConfigurationFault(
            "a key set with url and file",
            gateway: #"""
                version: 1
                listeners: [{ address: 127.0.0.1:8080 }]
                upstreams: { api: { url: "http://127.0.0.1:9000" } }
                issuers: [{ issuer: i, audience: [a], jwks: { url: "https://i/j", file: gateway.yaml } }]
                defaults: { upstream: api }

                """#,
            expected: #"""
                gateway.yaml:4:67: error: 'jwks' takes 'url' or 'file', not both
                issuers: [{ issuer: i, audience: [a], jwks: { url: "https://i/j", file: gateway.yaml } }]
                                                                                  ^

                """#),
        ConfigurationFault(
            "a key set with neither",
            gateway: #"""
                version: 1
                listeners: [{ address: 127.0.0.1:8080 }]
                upstreams: { api: { url: "http://127.0.0.1:9000" } }
                issuers: [{ issuer: i, audience: [a], jwks: { max_stale: 1h } }]
                defaults: { upstream: api }

                """#,
            expected: #"""
                gateway.yaml:4:45: error: 'jwks' needs 'url' or 'file'
                issuers: [{ issuer: i, audience: [a], jwks: { max_stale: 1h } }]
                                                            ^

                """#),
        ConfigurationFault(
            "a key set file that is not there",
            gateway: #"""
                version: 1
                listeners: [{ address: 127.0.0.1:8080 }]
                upstreams: { api: { url: "http://127.0.0.1:9000" } }
                issuers: [{ issuer: i, audience: [a], jwks: { file: no-such.json, cooldown: 3s } }]
                defaults: { upstream: api }

                """#,
            expected: #"""
                gateway.yaml:4:53: error: 'file': cannot read 'no-such.json': no such file or directory
                issuers: [{ issuer: i, audience: [a], jwks: { file: no-such.json, cooldown: 3s } }]
                                                                    ^
                gateway.yaml:4:67: error: 'cooldown' needs 'url'
                issuers: [{ issuer: i, audience: [a], jwks: { file: no-such.json, cooldown: 3s } }]
                                                                                  ^

                """#),
        ConfigurationFault(
            "duplicate issuers",
            gateway: #"""
                version: 1
                listeners: [{ address: 127.0.0.1:8080 }]
                upstreams: { api: { url: "http://127.0.0.1:9000" } }
                issuers:
                  - { issuer: i, audience: [a], jwks: { url: "https://i/j" } }
                  - { issuer: i, audience: [b], jwks: { url: "https://i/j" } }
                defaults: { upstream: api }

                """#,
            expected: #"""
                gateway.yaml:6:15: error: duplicate issuer 'i', first on line 5
                  - { issuer: i, audience: [b], jwks: { url: "https://i/j" } }
                              ^

                """#),
        ConfigurationFault(
            "a leeway that is too long",
            gateway: #"""
                version: 1
                listeners: [{ address: 127.0.0.1:8080 }]
                upstreams: { api: { url: "http://127.0.0.1:9000" } }
                issuers: [{ issuer: i, audience: [a], jwks: { url: "https://i/j" }, leeway: 1h }]
                defaults: { upstream: api }

                """#,
            expected: #"""
                gateway.yaml:4:77: error: 'leeway' must be a duration from 0s to 5m, not '1h'
                issuers: [{ issuer: i, audience: [a], jwks: { url: "https://i/j" }, leeway: 1h }]
                                                                                            ^

                """#),
        ConfigurationFault(
            "an unknown mode with a near word",
            gateway: #"""
                version: 1
                listeners: [{ address: 127.0.0.1:8080 }]
                upstreams: { api: { url: "http://127.0.0.1:9000" } }
                issuers: [{ issuer: i, audience: [a], jwks: { url: "https://i.example/jwks" } }]
                defaults: { upstream: api, mode: monitorin }

                """#,
            expected: #"""
                gateway.yaml:5:34: error: 'mode' must be off, monitoring, safe_blocking or block, not 'monitorin', did you mean 'monitoring'?
                defaults: { upstream: api, mode: monitorin }
                                                 ^

                """#),
        ConfigurationFault(
            "an unknown mode",
            gateway: #"""
                version: 1
                listeners: [{ address: 127.0.0.1:8080 }]
                upstreams: { api: { url: "http://127.0.0.1:9000" } }
                issuers: [{ issuer: i, audience: [a], jwks: { url: "https://i.example/jwks" } }]
                defaults: { upstream: api, mode: panic }

                """#,
            expected: #"""
                gateway.yaml:5:34: error: 'mode' must be off, monitoring, safe_blocking or block, not 'panic'
                defaults: { upstream: api, mode: panic }
                                                 ^

                """#),
        ConfigurationFault(
            "a block status that is no refusal",
            gateway: #"""
                version: 1
                listeners: [{ address: 127.0.0.1:8080 }]
                upstreams: { api: { url: "http://127.0.0.1:9000" } }
                issuers: [{ issuer: i, audience: [a], jwks: { url: "https://i.example/jwks" } }]
                defaults: { upstream: api, block: { status: 200, body: html, support_code: no } }

                """#,
            expected: #"""
                gateway.yaml:5:45: error: 'status' must be a whole number from 400 to 499, not '200'
                defaults: { upstream: api, block: { status: 200, body: html, support_code: no } }
                                                            ^
                gateway.yaml:5:56: error: 'body' must be json or empty, not 'html'
                defaults: { upstream: api, block: { status: 200, body: html, support_code: no } }
                                                                       ^
                gateway.yaml:5:76: error: 'support_code' must be true or false, not 'no'
                defaults: { upstream: api, block: { status: 200, body: html, support_code: no } }
                                                                                           ^

                """#),
        ConfigurationFault(
            "an unknown path policy",
            gateway: #"""
                version: 1
                listeners: [{ address: 127.0.0.1:8080 }]
                upstreams: { api: { url: "http://127.0.0.1:9000" } }
                issuers: [{ issuer: i, audience: [a], jwks: { url: "https://i.example/jwks" } }]
                defaults: { upstream: api, path_policy: strikt }

                """#,
            expected: #"""
                gateway.yaml:5:41: error: 'path_policy' must be strict or guarded, not 'strikt', did you mean 'strict'?
                defaults: { upstream: api, path_policy: strikt }
                                                        ^

                """#),
    ]
}
