// SPDX-License-Identifier: Apache-2.0

extension ConfigurationFault {
    /// Faults of rule files.
    static let rules2: [ConfigurationFault] = [
        ConfigurationFault(
            "rule keys of later versions",
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
                    rollout: { percent: 10 }
                    limits: [{ count: requests }]

                """#,
            expected: #"""
                r.yaml:5:5: error: 'rollout' is not available in this version
                    rollout: { percent: 10 }
                    ^
                r.yaml:6:5: error: 'limits' is not available in this version
                    limits: [{ count: requests }]
                    ^

                """#),
        ConfigurationFault(
            "unknown verdict words",
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
                    verdicts: { human: pas, robot: block }

                """#,
            expected: #"""
                r.yaml:5:24: error: 'human' must be pass or block, not 'pas', did you mean 'pass'?
                    verdicts: { human: pas, robot: block }
                                       ^
                r.yaml:5:29: error: unknown key 'robot', did you mean 'bot'?
                    verdicts: { human: pas, robot: block }
                                            ^

                """#),
        ConfigurationFault(
            "a grace that is none",
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
                    replay: once_with_grace

                """#,
            expected: #"""
                r.yaml:5:13: error: 'replay' must be once, off or once_with_grace and a duration, as in 'once_with_grace 3s', not 'once_with_grace'
                    replay: once_with_grace
                            ^

                """#),
        ConfigurationFault(
            "a grace that is too long",
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
                    replay: once_with_grace 2m

                """#,
            expected: #"""
                r.yaml:5:13: error: the grace of 'replay' must be more than zero and at most 1m
                    replay: once_with_grace 2m
                            ^

                """#),
        ConfigurationFault(
            "a replay word in another case",
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
                    replay: Once

                """#,
            expected: #"""
                r.yaml:5:13: error: 'replay' must be once, off or once_with_grace and a duration, as in 'once_with_grace 3s', not 'Once'
                    replay: Once
                            ^

                """#),
        ConfigurationFault(
            "unknown dependency words",
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
                    on_dependency: { jwks: opened, replays: closed }

                """#,
            expected: #"""
                r.yaml:5:28: error: 'jwks' must be closed or open, not 'opened', did you mean 'open'?
                    on_dependency: { jwks: opened, replays: closed }
                                           ^
                r.yaml:5:36: error: unknown key 'replays', did you mean 'replay'?
                    on_dependency: { jwks: opened, replays: closed }
                                                   ^

                """#),
        ConfigurationFault(
            "a field name that is none",
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
                    strip_headers: ["X HID", ""]

                """#,
            expected: #"""
                r.yaml:5:21: error: 'X HID' is not the name of a header field
                    strip_headers: ["X HID", ""]
                                    ^
                r.yaml:5:30: error: 'strip_headers' must not be empty
                    strip_headers: ["X HID", ""]
                                             ^

                """#),
        ConfigurationFault(
            "an unknown upstream of a rule",
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
                    upstream: ap

                """#,
            expected: #"""
                r.yaml:5:15: error: unknown upstream 'ap', did you mean 'api'?
                    upstream: ap
                              ^

                """#),
        ConfigurationFault(
            "an unknown word for methods that are not listed",
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
                    methods_not_listed: deny

                """#,
            expected: #"""
                r.yaml:5:25: error: 'methods_not_listed' must be refuse or pass, not 'deny'
                    methods_not_listed: deny
                                        ^

                """#),
        ConfigurationFault(
            "a route name with a line feed",
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
                  - name: "a\nb"
                    match: { path: /a }

                """#,
            expected: #"""
                r.yaml:2:11: error: 'name' must be text without control characters, not 'a?b'
                  - name: "a\nb"
                          ^

                """#),
        ConfigurationFault(
            "a route name with a slash",
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
                  - name: a/b
                    match: { path: /a }

                """#,
            expected: #"""
                r.yaml:2:11: error: the name of a route must be 1 to 64 letters, digits, '-', '_' or '.', not 'a/b'
                  - name: a/b
                          ^

                """#),
        ConfigurationFault(
            "faults in both files",
            gateway: #"""
                version: 1
                listeners: [{ address: 127.0.0.1:8080 }]
                upstreams: { api: { url: "http://127.0.0.1:9000" } }
                issuers: [{ issuer: i, audience: [a], jwks: { url: "https://i.example/jwks" } }]
                defaults: { upstream: api }
                rules: [r.yaml]
                loops: x

                """#,
            rules: #"""
                routes:
                  - name: login
                    match: { path: /login }
                    critical: maybe

                """#,
            expected: #"""
                gateway.yaml:7:8: error: 'loops' must be a whole number from 0 to 256, not 'x'
                loops: x
                       ^
                r.yaml:4:15: error: 'critical' must be true or false, not 'maybe'
                    critical: maybe
                              ^

                """#),
        ConfigurationFault(
            "a tab before the fault",
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
                  - {name: a,	match: { path: /a }, critcal: true }

                """#,
            expected: #"""
                r.yaml:2:36: error: unknown key 'critcal', did you mean 'critical'?
                  - {name: a,	match: { path: /a }, critcal: true }
                             	                     ^

                """#),
        ConfigurationFault(
            "a rule file that is no YAML",
            gateway: #"""
                version: 1
                listeners: [{ address: 127.0.0.1:8080 }]
                upstreams: { api: { url: "http://127.0.0.1:9000" } }
                issuers: [{ issuer: i, audience: [a], jwks: { url: "https://i.example/jwks" } }]
                defaults: { upstream: api }
                rules: [r.yaml]

                """#,
            rules: #"""
                routes: [

                """#,
            expected: #"""
                r.yaml:2:1: error: did not find expected node content while parsing a flow node

                """#),
        ConfigurationFault(
            "characters beyond ASCII before the fault",
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
                  - { name: "été", match: { path: /a } }

                """#,
            expected: #"""
                r.yaml:2:13: error: the name of a route must be 1 to 64 letters, digits, '-', '_' or '.', not 'été'
                  - { name: "été", match: { path: /a } }
                            ^

                """#),
        ConfigurationFault(
            "a host and a path that are empty",
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
                    match: { host: "", path: "" }

                """#,
            expected: #"""
                r.yaml:3:20: error: 'host' must not be empty
                    match: { host: "", path: "" }
                                   ^
                r.yaml:3:30: error: 'path' must not be empty
                    match: { host: "", path: "" }
                                             ^

                """#),
    ]
}
