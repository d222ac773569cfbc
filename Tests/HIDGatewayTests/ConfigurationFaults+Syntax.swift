// SPDX-License-Identifier: Apache-2.0

extension ConfigurationFault {
    /// Text that is not the YAML we take.
    static let syntax: [ConfigurationFault] = [
        ConfigurationFault(
            "empty file",
            gateway: #"""

                """#,
            expected: #"""
                gateway.yaml:1:1: error: the file is empty

                """#),
        ConfigurationFault(
            "only a comment",
            gateway: #"""
                # nothing

                """#,
            expected: #"""
                gateway.yaml:1:1: error: the file is empty
                # nothing
                ^

                """#),
        ConfigurationFault(
            "a list at the top",
            gateway: #"""
                - a

                """#,
            expected: #"""
                gateway.yaml:1:1: error: the file must be a mapping, not a list
                - a
                ^

                """#),
        ConfigurationFault(
            "a tab as indent",
            gateway: #"""
                version: 1
                listeners:
                	- address: x

                """#,
            expected: #"""
                gateway.yaml:3:1: error: found character that cannot start any token while scanning for the next token
                	- address: x
                ^

                """#),
        ConfigurationFault(
            "an open bracket",
            gateway: #"""
                listeners: [

                """#,
            expected: #"""
                gateway.yaml:2:1: error: did not find expected node content while parsing a flow node

                """#),
        ConfigurationFault(
            "an alias",
            gateway: #"""
                version: 1
                listeners: [{ address: 127.0.0.1:8080 }]
                upstreams: { api: { url: "http://127.0.0.1:9000" } }
                issuers: [{ issuer: i, audience: [a], jwks: { url: "https://i.example/jwks" } }]
                defaults: &d { upstream: api }
                store: *d

                """#,
            expected: #"""
                gateway.yaml:5:11: error: anchors are not accepted
                defaults: &d { upstream: api }
                          ^
                gateway.yaml:6:8: error: aliases are not accepted
                store: *d
                       ^

                """#),
        ConfigurationFault(
            "a tag",
            gateway: #"""
                version: 1
                listeners: [{ address: 127.0.0.1:8080 }]
                upstreams: { api: { url: "http://127.0.0.1:9000" } }
                issuers: [{ issuer: i, audience: [a], jwks: { url: "https://i.example/jwks" } }]
                defaults: { upstream: api }
                loops: !!int 1

                """#,
            expected: #"""
                gateway.yaml:6:8: error: tags are not accepted
                loops: !!int 1
                       ^

                """#),
        ConfigurationFault(
            "two documents",
            gateway: #"""
                version: 1
                listeners: [{ address: 127.0.0.1:8080 }]
                upstreams: { api: { url: "http://127.0.0.1:9000" } }
                issuers: [{ issuer: i, audience: [a], jwks: { url: "https://i.example/jwks" } }]
                defaults: { upstream: api }
                ---
                version: 1

                """#,
            expected: #"""
                gateway.yaml:6:1: error: more than one document in a file
                ---
                ^

                """#),
        ConfigurationFault(
            "a duplicate key",
            gateway: #"""
                version: 1
                listeners: [{ address: 127.0.0.1:8080 }]
                upstreams: { api: { url: "http://127.0.0.1:9000" } }
                issuers: [{ issuer: i, audience: [a], jwks: { url: "https://i.example/jwks" } }]
                defaults: { upstream: api }
                loops: 1
                loops: 2

                """#,
            expected: #"""
                gateway.yaml:7:1: error: duplicate key 'loops', first on line 6
                loops: 2
                ^

                """#),
        ConfigurationFault(
            "a key that is a list",
            gateway: #"""
                version: 1
                listeners: [{ address: 127.0.0.1:8080 }]
                upstreams: { api: { url: "http://127.0.0.1:9000" } }
                issuers: [{ issuer: i, audience: [a], jwks: { url: "https://i.example/jwks" } }]
                defaults: { upstream: api }
                [a, b]: 1

                """#,
            expected: #"""
                gateway.yaml:6:1: error: a key must be a word
                [a, b]: 1
                ^

                """#),
        ConfigurationFault(
            "a bomb of nested lists",
            gateway: #"""
                version: [[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]

                """#,
            expected: #"""
                gateway.yaml:1:41: error: nested deeper than 32 levels
                version: [[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]
                                                        ^

                """#),
        ConfigurationFault(
            "nested aliases",
            gateway: #"""
                a: &a [x, x]
                b: &b [*a, *a]

                """#,
            expected: #"""
                gateway.yaml:1:4: error: anchors are not accepted
                a: &a [x, x]
                   ^
                gateway.yaml:2:4: error: anchors are not accepted
                b: &b [*a, *a]
                   ^
                gateway.yaml:2:8: error: aliases are not accepted
                b: &b [*a, *a]
                       ^

                """#),
        ConfigurationFault(
            "a control character",
            gateway: "version: \"a\u{7}b\"\n",
            expected: #"""
                gateway.yaml:1:12: error: control characters are not allowed
                version: "a?b"
                           ^

                """#),
        ConfigurationFault(
            "a merge key",
            gateway: #"""
                version: 1
                listeners: [{ address: 127.0.0.1:8080 }]
                upstreams: { api: { url: "http://127.0.0.1:9000" } }
                issuers: [{ issuer: i, audience: [a], jwks: { url: "https://i.example/jwks" } }]
                defaults: { upstream: api }
                <<: { loops: 1 }

                """#,
            expected: #"""
                gateway.yaml:6:1: error: unknown key '<<'
                <<: { loops: 1 }
                ^

                """#),
    ]
}
