// SPDX-License-Identifier: Apache-2.0

extension ConfigurationFault {
    /// Faults of gateway.yaml.
    static let gateway: [ConfigurationFault] = [
        ConfigurationFault(
            "no version",
            gateway: #"""
                listeners: [{ address: 127.0.0.1:8080 }]
                upstreams: { api: { url: "http://127.0.0.1:9000" } }
                issuers: [{ issuer: i, audience: [a], jwks: { url: "https://i.example/jwks" } }]
                defaults: { upstream: api }

                """#,
            expected: #"""
                gateway.yaml:1:1: error: missing key 'version'
                listeners: [{ address: 127.0.0.1:8080 }]
                ^

                """#),
        ConfigurationFault(
            "another version",
            gateway: #"""
                version: 2
                listeners: [{ address: 127.0.0.1:8080 }]
                upstreams: { api: { url: "http://127.0.0.1:9000" } }
                issuers: [{ issuer: i, audience: [a], jwks: { url: "https://i.example/jwks" } }]
                defaults: { upstream: api }

                """#,
            expected: #"""
                gateway.yaml:1:10: error: 'version' must be 1, not '2'
                version: 2
                         ^

                """#),
        ConfigurationFault(
            "an unknown key with a near name",
            gateway: #"""
                version: 1
                listeners: [{ address: 127.0.0.1:8080 }]
                upstreams: { api: { url: "http://127.0.0.1:9000" } }
                issuers: [{ issuer: i, audience: [a], jwks: { url: "https://i.example/jwks" } }]
                defaults: { upstream: api }
                listener: []

                """#,
            expected: #"""
                gateway.yaml:6:1: error: unknown key 'listener', did you mean 'listeners'?
                listener: []
                ^

                """#),
        ConfigurationFault(
            "an unknown key without a near name",
            gateway: #"""
                version: 1
                listeners: [{ address: 127.0.0.1:8080 }]
                upstreams: { api: { url: "http://127.0.0.1:9000" } }
                issuers: [{ issuer: i, audience: [a], jwks: { url: "https://i.example/jwks" } }]
                defaults: { upstream: api }
                frobnicate: 1

                """#,
            expected: #"""
                gateway.yaml:6:1: error: unknown key 'frobnicate'
                frobnicate: 1
                ^

                """#),
        ConfigurationFault(
            "no listeners",
            gateway: #"""
                version: 1
                upstreams: { api: { url: "http://127.0.0.1:9000" } }
                issuers: [{ issuer: i, audience: [a], jwks: { url: "https://i.example/jwks" } }]
                defaults: { upstream: api }

                """#,
            expected: #"""
                gateway.yaml:1:1: error: missing key 'listeners'
                version: 1
                ^

                """#),
        ConfigurationFault(
            "an empty list of listeners",
            gateway: #"""
                version: 1
                listeners: []
                upstreams: { api: { url: "http://127.0.0.1:9000" } }
                issuers: [{ issuer: i, audience: [a], jwks: { url: "https://i.example/jwks" } }]
                defaults: { upstream: api }

                """#,
            expected: #"""
                gateway.yaml:2:12: error: 'listeners' must not be empty
                listeners: []
                           ^

                """#),
        ConfigurationFault(
            "listeners that are a mapping",
            gateway: #"""
                version: 1
                listeners: { address: "127.0.0.1:8080" }
                upstreams: { api: { url: "http://127.0.0.1:9000" } }
                issuers: [{ issuer: i, audience: [a], jwks: { url: "https://i.example/jwks" } }]
                defaults: { upstream: api }

                """#,
            expected: #"""
                gateway.yaml:2:12: error: 'listeners' must be a list, not a mapping
                listeners: { address: "127.0.0.1:8080" }
                           ^

                """#),
        ConfigurationFault(
            "a listener without port",
            gateway: #"""
                version: 1
                listeners: [{ address: 127.0.0.1 }]
                upstreams: { api: { url: "http://127.0.0.1:9000" } }
                issuers: [{ issuer: i, audience: [a], jwks: { url: "https://i.example/jwks" } }]
                defaults: { upstream: api }

                """#,
            expected: #"""
                gateway.yaml:2:24: error: address '127.0.0.1' lacks a port, as in 127.0.0.1:8080
                listeners: [{ address: 127.0.0.1 }]
                                       ^

                """#),
        ConfigurationFault(
            "a listener with a port out of range",
            gateway: #"""
                version: 1
                listeners: [{ address: "127.0.0.1:65536" }]
                upstreams: { api: { url: "http://127.0.0.1:9000" } }
                issuers: [{ issuer: i, audience: [a], jwks: { url: "https://i.example/jwks" } }]
                defaults: { upstream: api }

                """#,
            expected: #"""
                gateway.yaml:2:24: error: address '127.0.0.1:65536' needs a port from 0 to 65535
                listeners: [{ address: "127.0.0.1:65536" }]
                                       ^

                """#),
        ConfigurationFault(
            "a listener with a signed port",
            gateway: #"""
                version: 1
                listeners: [{ address: "127.0.0.1:+80" }]
                upstreams: { api: { url: "http://127.0.0.1:9000" } }
                issuers: [{ issuer: i, audience: [a], jwks: { url: "https://i.example/jwks" } }]
                defaults: { upstream: api }

                """#,
            expected: #"""
                gateway.yaml:2:24: error: address '127.0.0.1:+80' needs a port from 0 to 65535
                listeners: [{ address: "127.0.0.1:+80" }]
                                       ^

                """#),
        ConfigurationFault(
            "a listener with bare IPv6",
            gateway: #"""
                version: 1
                listeners: [{ address: "::1:8080" }]
                upstreams: { api: { url: "http://127.0.0.1:9000" } }
                issuers: [{ issuer: i, audience: [a], jwks: { url: "https://i.example/jwks" } }]
                defaults: { upstream: api }

                """#,
            expected: #"""
                gateway.yaml:2:24: error: address '::1:8080' needs a host name or an address before the port
                listeners: [{ address: "::1:8080" }]
                                       ^

                """#),
        ConfigurationFault(
            "a listener with a bad IPv6 address",
            gateway: #"""
                version: 1
                listeners: [{ address: "[::1::]:8080" }]
                upstreams: { api: { url: "http://127.0.0.1:9000" } }
                issuers: [{ issuer: i, audience: [a], jwks: { url: "https://i.example/jwks" } }]
                defaults: { upstream: api }

                """#,
            expected: #"""
                gateway.yaml:2:24: error: address '[::1::]:8080' must have an IPv6 address in its brackets
                listeners: [{ address: "[::1::]:8080" }]
                                       ^

                """#),
        ConfigurationFault(
            "a listener with a bad IPv4 address",
            gateway: #"""
                version: 1
                listeners: [{ address: "127.0.0.256:8080" }]
                upstreams: { api: { url: "http://127.0.0.1:9000" } }
                issuers: [{ issuer: i, audience: [a], jwks: { url: "https://i.example/jwks" } }]
                defaults: { upstream: api }

                """#,
            expected: #"""
                gateway.yaml:2:24: error: address '127.0.0.256:8080' needs a host name or an address before the port
                listeners: [{ address: "127.0.0.256:8080" }]
                                       ^

                """#),
        ConfigurationFault(
            "a listener on a relative unix path",
            gateway: #"""
                version: 1
                listeners: [{ address: "unix:run/x.sock" }]
                upstreams: { api: { url: "http://127.0.0.1:9000" } }
                issuers: [{ issuer: i, audience: [a], jwks: { url: "https://i.example/jwks" } }]
                defaults: { upstream: api }

                """#,
            expected: #"""
                gateway.yaml:2:24: error: address 'unix:run/x.sock' must be an absolute path, as in unix:/path
                listeners: [{ address: "unix:run/x.sock" }]
                                       ^

                """#),
        ConfigurationFault(
            "a listener without name of its socket",
            gateway: #"""
                version: 1
                listeners: [{ address: "fd:" }]
                upstreams: { api: { url: "http://127.0.0.1:9000" } }
                issuers: [{ issuer: i, audience: [a], jwks: { url: "https://i.example/jwks" } }]
                defaults: { upstream: api }

                """#,
            expected: #"""
                gateway.yaml:2:24: error: address 'fd:' must name a socket, as in fd:NAME
                listeners: [{ address: "fd:" }]
                                       ^

                """#),
        ConfigurationFault(
            "duplicate listeners",
            gateway: #"""
                version: 1
                listeners:
                  - address: 127.0.0.1:8080
                  - address: 127.0.0.1:8080
                upstreams: { api: { url: "http://127.0.0.1:9000" } }
                issuers: [{ issuer: i, audience: [a], jwks: { url: "https://i.example/jwks" } }]
                defaults: { upstream: api }

                """#,
            expected: #"""
                gateway.yaml:4:14: error: duplicate listener, first on line 3
                  - address: 127.0.0.1:8080
                             ^

                """#),
        ConfigurationFault(
            "a listener without its TLS files",
            gateway: #"""
                version: 1
                listeners:
                  - address: 127.0.0.1:8443
                    tls: { certificate: a, key: b }
                upstreams: { api: { url: "http://127.0.0.1:9000" } }
                issuers: [{ issuer: i, audience: [a], jwks: { url: "https://i.example/jwks" } }]
                defaults: { upstream: api }

                """#,
            expected: #"""
                gateway.yaml:4:25: error: 'certificate': cannot read 'a': no such file or directory
                    tls: { certificate: a, key: b }
                                        ^
                gateway.yaml:4:33: error: 'key': cannot read 'b': no such file or directory
                    tls: { certificate: a, key: b }
                                                ^

                """#),
        ConfigurationFault(
            "the PROXY protocol from anybody",
            gateway: #"""
                version: 1
                listeners:
                  - { address: 192.0.2.1:8080, proxy_protocol: true }
                  - { address: fd:http, proxy_protocol: true }
                  - { address: 127.0.0.1:8080, proxy_protocol: "yes" }
                  - { address: unix:/run/a.sock, proxy_protocol: true }
                  - { address: 0.0.0.0:8081, proxy_protocol: true, trusted_proxies: [10.0.0.0/8] }
                  - { address: "[::1]:8080", proxy_protocol: true }
                  - { address: 0.0.0.0:8082, proxy_protocol: false }
                upstreams: { api: { url: "http://127.0.0.1:9000" } }
                issuers: [{ issuer: i, audience: [a], jwks: { url: "https://i.example/jwks" } }]
                defaults: { upstream: api }

                """#,
            expected: #"""
                gateway.yaml:3:48: error: 'proxy_protocol' lets whoever connects choose the client's address: list the proxies in 'trusted_proxies', or listen on a loopback address or a unix socket
                  - { address: 192.0.2.1:8080, proxy_protocol: true }
                                                               ^
                gateway.yaml:4:41: error: 'proxy_protocol' lets whoever connects choose the client's address: list the proxies in 'trusted_proxies', or listen on a loopback address or a unix socket
                  - { address: fd:http, proxy_protocol: true }
                                                        ^
                gateway.yaml:5:48: error: 'proxy_protocol' must be true or false, not 'yes'
                  - { address: 127.0.0.1:8080, proxy_protocol: "yes" }
                                                               ^

                """#),
        ConfigurationFault(
            "faulty address blocks",
            gateway: #"""
                version: 1
                listeners:
                  - address: 127.0.0.1:8080
                    trusted_proxies: [10.0.0.1/8, 10.0.0.0/33, ten, "2001:db8::/32"]
                upstreams: { api: { url: "http://127.0.0.1:9000" } }
                issuers: [{ issuer: i, audience: [a], jwks: { url: "https://i.example/jwks" } }]
                defaults: { upstream: api }

                """#,
            expected: #"""
                gateway.yaml:4:23: error: '10.0.0.1/8' has bits set beyond its prefix length
                    trusted_proxies: [10.0.0.1/8, 10.0.0.0/33, ten, "2001:db8::/32"]
                                      ^
                gateway.yaml:4:35: error: the prefix length of '10.0.0.0/33' must be from 0 to 32
                    trusted_proxies: [10.0.0.1/8, 10.0.0.0/33, ten, "2001:db8::/32"]
                                                  ^
                gateway.yaml:4:48: error: 'trusted_proxies' must be an address block like 10.0.0.0/8, not 'ten'
                    trusted_proxies: [10.0.0.1/8, 10.0.0.0/33, ten, "2001:db8::/32"]
                                                               ^

                """#),
        ConfigurationFault(
            "no upstreams",
            gateway: #"""
                version: 1
                listeners: [{ address: 127.0.0.1:8080 }]
                issuers: [{ issuer: i, audience: [a], jwks: { url: "https://i.example/jwks" } }]
                defaults: { upstream: api }

                """#,
            expected: #"""
                gateway.yaml:1:1: error: missing key 'upstreams'
                version: 1
                ^

                """#),
        ConfigurationFault(
            "an upstream without URL",
            gateway: #"""
                version: 1
                listeners: [{ address: 127.0.0.1:8080 }]
                upstreams: { api: {} }
                issuers: [{ issuer: i, audience: [a], jwks: { url: "https://i.example/jwks" } }]
                defaults: { upstream: api }

                """#,
            expected: #"""
                gateway.yaml:3:19: error: missing key 'url' in 'api'
                upstreams: { api: {} }
                                  ^

                """#),
        ConfigurationFault(
            "an upstream with another scheme",
            gateway: #"""
                version: 1
                listeners: [{ address: 127.0.0.1:8080 }]
                upstreams: { api: { url: "ftp://127.0.0.1" } }
                issuers: [{ issuer: i, audience: [a], jwks: { url: "https://i.example/jwks" } }]
                defaults: { upstream: api }

                """#,
            expected: #"""
                gateway.yaml:3:26: error: URL 'ftp://127.0.0.1' must start with http:// or https://
                upstreams: { api: { url: "ftp://127.0.0.1" } }
                                         ^

                """#),
        ConfigurationFault(
            "an upstream with a path",
            gateway: #"""
                version: 1
                listeners: [{ address: 127.0.0.1:8080 }]
                upstreams: { api: { url: "http://127.0.0.1:9000/v1" } }
                issuers: [{ issuer: i, audience: [a], jwks: { url: "https://i.example/jwks" } }]
                defaults: { upstream: api }

                """#,
            expected: #"""
                gateway.yaml:3:26: error: the URL of an upstream must not hold a path or a query: requests bring their own
                upstreams: { api: { url: "http://127.0.0.1:9000/v1" } }
                                         ^

                """#),
    ]
}
