// SPDX-License-Identifier: Apache-2.0

extension ConfigurationFault {
    /// Faults of rule files.
    static let rules: [ConfigurationFault] = [
        ConfigurationFault(
            "a rule file without routes",
            gateway: #"""
                version: 1
                listeners: [{ address: 127.0.0.1:8080 }]
                upstreams: { api: { url: "http://127.0.0.1:9000" } }
                issuers: [{ issuer: i, audience: [a], jwks: { url: "https://i.example/jwks" } }]
                defaults: { upstream: api }
                rules: [r.yaml]

                """#,
            rules: #"""
                version: 1

                """#,
            expected: #"""
                r.yaml:1:1: error: missing key 'routes'
                version: 1
                ^
                r.yaml:1:1: error: unknown key 'version'
                version: 1
                ^

                """#),
        ConfigurationFault(
            "an unknown key of a rule",
            gateway: #"""
                version: 1
                listeners: [{ address: 127.0.0.1:8080 }]
                upstreams: { api: { url: "http://127.0.0.1:9000" } }
                issuers: [{ issuer: i, audience: [a], jwks: { url: "https://i.example/jwks" } }]
                defaults: { upstream: api }
                rules: [r.yaml]

                """#,
            rules: #"""
                routes:
                  - name: login
                    match: { path: /login, methd: [POST] }
                    critcal: true

                """#,
            expected: #"""
                r.yaml:3:28: error: unknown key 'methd', did you mean 'methods'?
                    match: { path: /login, methd: [POST] }
                                           ^
                r.yaml:4:5: error: unknown key 'critcal', did you mean 'critical'?
                    critcal: true
                    ^

                """#),
        ConfigurationFault(
            "a rule without name and match",
            gateway: #"""
                version: 1
                listeners: [{ address: 127.0.0.1:8080 }]
                upstreams: { api: { url: "http://127.0.0.1:9000" } }
                issuers: [{ issuer: i, audience: [a], jwks: { url: "https://i.example/jwks" } }]
                defaults: { upstream: api }
                rules: [r.yaml]

                """#,
            rules: #"""
                routes:
                  - critical: true

                """#,
            expected: #"""
                r.yaml:2:5: error: missing key 'name' in 'routes'
                  - critical: true
                    ^
                r.yaml:2:5: error: missing key 'match' in 'routes'
                  - critical: true
                    ^

                """#),
        ConfigurationFault(
            "lower case methods",
            gateway: #"""
                version: 1
                listeners: [{ address: 127.0.0.1:8080 }]
                upstreams: { api: { url: "http://127.0.0.1:9000" } }
                issuers: [{ issuer: i, audience: [a], jwks: { url: "https://i.example/jwks" } }]
                defaults: { upstream: api }
                rules: [r.yaml]

                """#,
            rules: #"""
                routes:
                  - name: a
                    match: { path: /a, methods: [post, "PO ST", "Get"] }

                """#,
            expected: #"""
                r.yaml:3:34: error: method 'post' must be upper case, did you mean 'POST'?
                    match: { path: /a, methods: [post, "PO ST", "Get"] }
                                                 ^
                r.yaml:3:40: error: method 'PO ST' must be an upper-case word like GET or POST
                    match: { path: /a, methods: [post, "PO ST", "Get"] }
                                                       ^
                r.yaml:3:49: error: method 'Get' must be upper case, did you mean 'GET'?
                    match: { path: /a, methods: [post, "PO ST", "Get"] }
                                                                ^

                """#),
        ConfigurationFault(
            "an empty list of methods",
            gateway: #"""
                version: 1
                listeners: [{ address: 127.0.0.1:8080 }]
                upstreams: { api: { url: "http://127.0.0.1:9000" } }
                issuers: [{ issuer: i, audience: [a], jwks: { url: "https://i.example/jwks" } }]
                defaults: { upstream: api }
                rules: [r.yaml]

                """#,
            rules: #"""
                routes:
                  - name: a
                    match: { path: /a, methods: [] }

                """#,
            expected: #"""
                r.yaml:3:33: error: 'methods' must not be empty
                    match: { path: /a, methods: [] }
                                                ^

                """#),
        ConfigurationFault(
            "a relative path",
            gateway: #"""
                version: 1
                listeners: [{ address: 127.0.0.1:8080 }]
                upstreams: { api: { url: "http://127.0.0.1:9000" } }
                issuers: [{ issuer: i, audience: [a], jwks: { url: "https://i.example/jwks" } }]
                defaults: { upstream: api }
                rules: [r.yaml]

                """#,
            rules: #"""
                routes:
                  - name: a
                    match: { path: a/b }

                """#,
            expected: #"""
                r.yaml:3:20: error: 'path' must be a path that starts with '/', not 'a/b'
                    match: { path: a/b }
                                   ^

                """#),
        ConfigurationFault(
            "a host with a port",
            gateway: #"""
                version: 1
                listeners: [{ address: 127.0.0.1:8080 }]
                upstreams: { api: { url: "http://127.0.0.1:9000" } }
                issuers: [{ issuer: i, audience: [a], jwks: { url: "https://i.example/jwks" } }]
                defaults: { upstream: api }
                rules: [r.yaml]

                """#,
            rules: #"""
                routes:
                  - name: a
                    match: { host: "api.example.com:443", path: /a }

                """#,
            expected: #"""
                r.yaml:3:20: error: 'host' must be a host name without port, as in api.example.com or *.example.com, not 'api.example.com:443'
                    match: { host: "api.example.com:443", path: /a }
                                   ^

                """#),
        ConfigurationFault(
            "a host with a star in the middle",
            gateway: #"""
                version: 1
                listeners: [{ address: 127.0.0.1:8080 }]
                upstreams: { api: { url: "http://127.0.0.1:9000" } }
                issuers: [{ issuer: i, audience: [a], jwks: { url: "https://i.example/jwks" } }]
                defaults: { upstream: api }
                rules: [r.yaml]

                """#,
            rules: #"""
                routes:
                  - name: a
                    match: { host: "api.*.com", path: /a }

                """#,
            expected: #"""
                r.yaml:3:20: error: 'host' must be a host name without port, as in api.example.com or *.example.com, not 'api.*.com'
                    match: { host: "api.*.com", path: /a }
                                   ^

                """#),
        ConfigurationFault(
            "duplicate names",
            gateway: #"""
                version: 1
                listeners: [{ address: 127.0.0.1:8080 }]
                upstreams: { api: { url: "http://127.0.0.1:9000" } }
                issuers: [{ issuer: i, audience: [a], jwks: { url: "https://i.example/jwks" } }]
                defaults: { upstream: api }
                rules: [r.yaml]

                """#,
            rules: #"""
                routes:
                  - name: a
                    match: { path: /a }
                  - name: a
                    match: { path: /b }

                """#,
            expected: #"""
                r.yaml:4:11: error: duplicate route 'a', first at r.yaml:2
                  - name: a
                          ^

                """#),
        ConfigurationFault(
            "the same requests twice",
            gateway: #"""
                version: 1
                listeners: [{ address: 127.0.0.1:8080 }]
                upstreams: { api: { url: "http://127.0.0.1:9000" } }
                issuers: [{ issuer: i, audience: [a], jwks: { url: "https://i.example/jwks" } }]
                defaults: { upstream: api }
                rules: [r.yaml]

                """#,
            rules: #"""
                routes:
                  - name: a
                    match: { host: A.example, path: /a, methods: [GET, POST] }
                  - name: b
                    match: { host: a.example, path: /a, methods: [POST] }
                  - name: c
                    match: { host: a.example, path: /a }

                """#,
            expected: #"""
                r.yaml:5:12: error: matches the same requests as route 'a' at r.yaml:3
                    match: { host: a.example, path: /a, methods: [POST] }
                           ^

                """#),
        ConfigurationFault(
            "a critical rule without issuer",
            gateway: #"""
                version: 1
                listeners: [{ address: 127.0.0.1:8080 }]
                upstreams: { api: { url: "http://127.0.0.1:9000" } }
                defaults: { upstream: api }
                rules: [r.yaml]

                """#,
            rules: #"""
                routes:
                  - name: login
                    match: { path: /login }
                    critical: true

                """#,
            expected: #"""
                r.yaml:4:15: error: route 'login' is critical, but 'issuers' is empty
                    critical: true
                              ^

                """#),
        ConfigurationFault(
            "a critical rule with an empty list of issuers",
            gateway: #"""
                version: 1
                listeners: [{ address: 127.0.0.1:8080 }]
                upstreams: { api: { url: "http://127.0.0.1:9000" } }
                issuers: []
                defaults: { upstream: api }
                rules: [r.yaml]

                """#,
            rules: #"""
                routes:
                  - name: login
                    match: { path: /login }
                    critical: true

                """#,
            expected: #"""
                r.yaml:4:15: error: route 'login' is critical, but 'issuers' is empty
                    critical: true
                              ^

                """#),
        ConfigurationFault(
            "a critical rule with a faulty issuer",
            gateway: #"""
                version: 1
                listeners: [{ address: 127.0.0.1:8080 }]
                upstreams: { api: { url: "http://127.0.0.1:9000" } }
                issuers: [{ issuer: i }]
                defaults: { upstream: api }
                rules: [r.yaml]

                """#,
            rules: #"""
                routes:
                  - name: login
                    match: { path: /login }
                    critical: true

                """#,
            expected: #"""
                gateway.yaml:4:11: error: missing key 'audience' in 'issuers'
                issuers: [{ issuer: i }]
                          ^
                gateway.yaml:4:11: error: missing key 'jwks' in 'issuers'
                issuers: [{ issuer: i }]
                          ^

                """#),
        ConfigurationFault(
            "a critical rule in mode off",
            gateway: #"""
                version: 1
                listeners: [{ address: 127.0.0.1:8080 }]
                upstreams: { api: { url: "http://127.0.0.1:9000" } }
                issuers: [{ issuer: i, audience: [a], jwks: { url: "https://i.example/jwks" } }]
                defaults: { upstream: api }
                rules: [r.yaml]

                """#,
            rules: #"""
                routes:
                  - name: login
                    match: { path: /login }
                    critical: true
                    mode: off

                """#,
            expected: #"""
                r.yaml:5:11: warning: route 'login' is critical, but nothing is checked in mode 'off'
                    mode: off
                          ^

                """#),
        ConfigurationFault(
            "a critical rule whose default mode is off",
            gateway: #"""
                version: 1
                listeners: [{ address: 127.0.0.1:8080 }]
                upstreams: { api: { url: "http://127.0.0.1:9000" } }
                issuers: [{ issuer: i, audience: [a], jwks: { url: "https://i.example/jwks" } }]
                defaults: { upstream: api, mode: "off" }
                rules: [r.yaml]

                """#,
            rules: #"""
                routes:
                  - name: login
                    match: { path: /login }
                    critical: true

                """#,
            expected: #"""
                r.yaml:4:15: warning: route 'login' is critical, but nothing is checked in mode 'off'
                    critical: true
                              ^

                """#),
        ConfigurationFault(
            "keys without effect",
            gateway: #"""
                version: 1
                listeners: [{ address: 127.0.0.1:8080 }]
                upstreams: { api: { url: "http://127.0.0.1:9000" } }
                issuers: [{ issuer: i, audience: [a], jwks: { url: "https://i.example/jwks" } }]
                defaults: { upstream: api }
                rules: [r.yaml]

                """#,
            rules: #"""
                routes:
                  - name: a
                    match: { path: /a }
                    mode: block
                    signature: { required: true }
                    replay: once

                """#,
            expected: #"""
                r.yaml:4:5: warning: 'mode' has no effect on a route that is not critical
                    mode: block
                    ^
                r.yaml:5:5: warning: 'signature' has no effect on a route that is not critical
                    signature: { required: true }
                    ^
                r.yaml:6:5: warning: 'replay' has no effect on a route that is not critical
                    replay: once
                    ^

                """#),
        ConfigurationFault(
            "no signature accepted",
            gateway: #"""
                version: 1
                listeners: [{ address: 127.0.0.1:8080 }]
                upstreams: { api: { url: "http://127.0.0.1:9000" } }
                issuers: [{ issuer: i, audience: [a], jwks: { url: "https://i.example/jwks" } }]
                defaults: { upstream: api }
                rules: [r.yaml]

                """#,
            rules: #"""
                routes:
                  - name: login
                    match: { path: /login }
                    critical: true
                    signature: { accept: [] }

                """#,
            expected: #"""
                r.yaml:5:26: error: 'accept' must not be empty
                    signature: { accept: [] }
                                         ^

                """#),
        ConfigurationFault(
            "an unknown signature version",
            gateway: #"""
                version: 1
                listeners: [{ address: 127.0.0.1:8080 }]
                upstreams: { api: { url: "http://127.0.0.1:9000" } }
                issuers: [{ issuer: i, audience: [a], jwks: { url: "https://i.example/jwks" } }]
                defaults: { upstream: api }
                rules: [r.yaml]

                """#,
            rules: #"""
                routes:
                  - name: login
                    match: { path: /login }
                    critical: true
                    signature: { accept: [v1, v3], required: yes }

                """#,
            expected: #"""
                r.yaml:5:31: error: 'accept' must be v1 or v2, not 'v3', did you mean 'v1'?
                    signature: { accept: [v1, v3], required: yes }
                                              ^
                r.yaml:5:46: error: 'required' must be true or false, not 'yes'
                    signature: { accept: [v1, v3], required: yes }
                                                             ^

                """#),
    ]
}
