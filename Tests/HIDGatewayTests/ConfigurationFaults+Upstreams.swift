// SPDX-License-Identifier: Apache-2.0

extension ConfigurationFault {
    /// Faults of upstreams with several servers, and of the resolver.
    static let upstreams: [ConfigurationFault] = [
        ConfigurationFault(
            "an upstream with url and servers",
            gateway: #"""
                version: 1
                listeners: [{ address: 127.0.0.1:8080 }]
                upstreams: { api: { url: "http://a:1", servers: [{ url: "http://b:1" }] } }
                issuers: [{ issuer: i, audience: [a], jwks: { url: "https://i.example/jwks" } }]
                defaults: { upstream: api }

                """#,
            expected: #"""
                gateway.yaml:3:21: error: 'url' and 'servers' exclude each other
                upstreams: { api: { url: "http://a:1", servers: [{ url: "http://b:1" }] } }
                                    ^

                """#),
        ConfigurationFault(
            "servers with faults of every kind",
            gateway: #"""
                version: 1
                listeners: [{ address: 127.0.0.1:8080 }]
                upstreams:
                  api:
                    servers:
                      - { url: "http://10.0.0.1:9000", weight: 257 }
                      - { url: "http://10.0.0.2:9000", wieght: 2, max_connections: 0 }
                      - { weight: 1 }
                      - http://10.0.0.3
                issuers: [{ issuer: i, audience: [a], jwks: { url: "https://i.example/jwks" } }]
                defaults: { upstream: api }

                """#,
            expected: #"""
                gateway.yaml:6:48: error: 'weight' must be a whole number from 0 to 256, not '257'
                      - { url: "http://10.0.0.1:9000", weight: 257 }
                                                               ^
                gateway.yaml:7:40: error: unknown key 'wieght', did you mean 'weight'?
                      - { url: "http://10.0.0.2:9000", wieght: 2, max_connections: 0 }
                                                       ^
                gateway.yaml:7:68: error: 'max_connections' must be a whole number from 1 to 65535, not '0'
                      - { url: "http://10.0.0.2:9000", wieght: 2, max_connections: 0 }
                                                                                   ^
                gateway.yaml:8:9: error: missing key 'url' in 'servers'
                      - { weight: 1 }
                        ^
                gateway.yaml:9:9: error: 'servers' must be a mapping, not 'http://10.0.0.3'
                      - http://10.0.0.3
                        ^

                """#),
        ConfigurationFault(
            "servers that are none",
            gateway: #"""
                version: 1
                listeners: [{ address: 127.0.0.1:8080 }]
                upstreams: { api: { servers: [] } }
                issuers: [{ issuer: i, audience: [a], jwks: { url: "https://i.example/jwks" } }]
                defaults: { upstream: api }

                """#,
            expected: #"""
                gateway.yaml:3:30: error: 'servers' must not be empty
                upstreams: { api: { servers: [] } }
                                             ^

                """#),
        ConfigurationFault(
            "servers twice and of both kinds",
            gateway: #"""
                version: 1
                listeners: [{ address: 127.0.0.1:8080 }]
                upstreams:
                  api:
                    servers: [{ url: "http://a:1" }, { url: "http://a:1" }, { url: "https://b" }]
                issuers: [{ issuer: i, audience: [a], jwks: { url: "https://i.example/jwks" } }]
                defaults: { upstream: api }

                """#,
            expected: #"""
                gateway.yaml:5:38: error: server 'http://a:1' is listed twice
                    servers: [{ url: "http://a:1" }, { url: "http://a:1" }, { url: "https://b" }]
                                                     ^
                gateway.yaml:5:61: error: the servers of an upstream must all be https, or none of them
                    servers: [{ url: "http://a:1" }, { url: "http://a:1" }, { url: "https://b" }]
                                                                            ^

                """#),
        ConfigurationFault(
            "servers that all are drained",
            gateway: #"""
                version: 1
                listeners: [{ address: 127.0.0.1:8080 }]
                upstreams: { api: { servers: [{ url: "http://a:1", weight: 0 }] } }
                issuers: [{ issuer: i, audience: [a], jwks: { url: "https://i.example/jwks" } }]
                defaults: { upstream: api }

                """#,
            expected: #"""
                gateway.yaml:3:30: error: at least one server needs a weight above 0
                upstreams: { api: { servers: [{ url: "http://a:1", weight: 0 }] } }
                                             ^

                """#),
        ConfigurationFault(
            "a queue, retries and ejection out of bounds",
            gateway: #"""
                version: 1
                listeners: [{ address: 127.0.0.1:8080 }]
                upstreams:
                  api:
                    url: http://a:1
                    queue: { size: 65536, timeout: 2m, length: 1 }
                    retries: { budget_percent: 101, min_per_second: -1 }
                    ejection: { failures: 0, within: 10, for: 20s, max_for: 10s, max_percent: 0, statuses: yes }
                    proxy_protocol: v1
                issuers: [{ issuer: i, audience: [a], jwks: { url: "https://i.example/jwks" } }]
                defaults: { upstream: api }

                """#,
            expected: #"""
                gateway.yaml:6:20: error: 'size' must be a whole number from 0 to 65535, not '65536'
                    queue: { size: 65536, timeout: 2m, length: 1 }
                                   ^
                gateway.yaml:6:36: error: 'timeout' must be a duration from 1ms to 1m, not '2m'
                    queue: { size: 65536, timeout: 2m, length: 1 }
                                                   ^
                gateway.yaml:6:40: error: unknown key 'length'
                    queue: { size: 65536, timeout: 2m, length: 1 }
                                                       ^
                gateway.yaml:7:32: error: 'budget_percent' must be a whole number from 0 to 100, not '101'
                    retries: { budget_percent: 101, min_per_second: -1 }
                                               ^
                gateway.yaml:7:53: error: 'min_per_second' must be a whole number from 0 to 1000, not '-1'
                    retries: { budget_percent: 101, min_per_second: -1 }
                                                                    ^
                gateway.yaml:8:27: error: 'failures' must be a whole number from 1 to 1000, not '0'
                    ejection: { failures: 0, within: 10, for: 20s, max_for: 10s, max_percent: 0, statuses: yes }
                                          ^
                gateway.yaml:8:38: error: 'within' must be a duration like 250ms, 10s, 5m, 1h or 7d, not '10'
                    ejection: { failures: 0, within: 10, for: 20s, max_for: 10s, max_percent: 0, statuses: yes }
                                                     ^
                gateway.yaml:8:52: error: 'max_for' must not be shorter than 'for'
                    ejection: { failures: 0, within: 10, for: 20s, max_for: 10s, max_percent: 0, statuses: yes }
                                                                   ^
                gateway.yaml:8:79: error: 'max_percent' must be a whole number from 1 to 100, not '0'
                    ejection: { failures: 0, within: 10, for: 20s, max_for: 10s, max_percent: 0, statuses: yes }
                                                                                              ^
                gateway.yaml:8:92: error: 'statuses' must be true or false, not 'yes'
                    ejection: { failures: 0, within: 10, for: 20s, max_for: 10s, max_percent: 0, statuses: yes }
                                                                                                           ^
                gateway.yaml:9:21: error: 'proxy_protocol' must be off or v2, not 'v1', did you mean 'v2'?
                    proxy_protocol: v1
                                    ^

                """#),
        ConfigurationFault(
            "an ejection that is neither off nor a mapping",
            gateway: #"""
                version: 1
                listeners: [{ address: 127.0.0.1:8080 }]
                upstreams: { api: { url: "http://a:1", ejection: "no" } }
                issuers: [{ issuer: i, audience: [a], jwks: { url: "https://i.example/jwks" } }]
                defaults: { upstream: api }

                """#,
            expected: #"""
                gateway.yaml:3:50: error: 'ejection' must be a mapping or off, not 'no'
                upstreams: { api: { url: "http://a:1", ejection: "no" } }
                                                                 ^

                """#),
        ConfigurationFault(
            "a health check with faults",
            gateway: #"""
                version: 1
                listeners: [{ address: 127.0.0.1:8080 }]
                upstreams:
                  api:
                    url: http://a:1
                    health:
                      path: healthz
                      interval: 1ms
                      timeout: 0s
                      status: [200-399, 99, 300-200, 2xx]
                      rise: 0
                      fall: many
                      host: "a b"
                issuers: [{ issuer: i, audience: [a], jwks: { url: "https://i.example/jwks" } }]
                defaults: { upstream: api }

                """#,
            expected: #"""
                gateway.yaml:7:13: error: 'path' must be a path that starts with '/', in printable ASCII, not 'healthz'
                      path: healthz
                            ^
                gateway.yaml:8:17: error: 'interval' must be a duration from 100ms to 1h, not '1ms'
                      interval: 1ms
                                ^
                gateway.yaml:9:16: error: 'timeout' must be a duration from 10ms to 1m, not '0s'
                      timeout: 0s
                               ^
                gateway.yaml:10:25: error: 'status' must be a status like 204 or a range like 200-399, not '99'
                      status: [200-399, 99, 300-200, 2xx]
                                        ^
                gateway.yaml:10:29: error: 'status' must be a status like 204 or a range like 200-399, not '300-200'
                      status: [200-399, 99, 300-200, 2xx]
                                            ^
                gateway.yaml:10:38: error: 'status' must be a status like 204 or a range like 200-399, not '2xx'
                      status: [200-399, 99, 300-200, 2xx]
                                                     ^
                gateway.yaml:11:13: error: 'rise' must be a whole number from 1 to 100, not '0'
                      rise: 0
                            ^
                gateway.yaml:12:13: error: 'fall' must be a whole number from 1 to 100, not 'many'
                      fall: many
                            ^
                gateway.yaml:13:13: error: 'host' must be a host name or address, with or without a port, not 'a b'
                      host: "a b"
                            ^

                """#),
        ConfigurationFault(
            "a health check without a path",
            gateway: #"""
                version: 1
                listeners: [{ address: 127.0.0.1:8080 }]
                upstreams: { api: { url: "http://a:1", health: { interval: 5s } } }
                issuers: [{ issuer: i, audience: [a], jwks: { url: "https://i.example/jwks" } }]
                defaults: { upstream: api }

                """#,
            expected: #"""
                gateway.yaml:3:48: error: missing key 'path' in 'health'
                upstreams: { api: { url: "http://a:1", health: { interval: 5s } } }
                                                               ^

                """#),
        ConfigurationFault(
            "the PROXY protocol with https",
            gateway: #"""
                version: 1
                listeners: [{ address: 127.0.0.1:8080 }]
                upstreams: { api: { url: "https://a", proxy_protocol: v2 } }
                issuers: [{ issuer: i, audience: [a], jwks: { url: "https://i.example/jwks" } }]
                defaults: { upstream: api }

                """#,
            expected: #"""
                gateway.yaml:3:39: error: 'proxy_protocol' is not available with https
                upstreams: { api: { url: "https://a", proxy_protocol: v2 } }
                                                      ^

                """#),
        ConfigurationFault(
            "a resolver with faults",
            gateway: #"""
                version: 1
                listeners: [{ address: 127.0.0.1:8080 }]
                upstreams: { api: { url: "http://a:1" } }
                resolver: { nameservers: [localhost, "127.0.0.1:0", "::1"], min_ttl: 10s, max_ttl: 5s, timeout: 0s, ttl: 1s }
                issuers: [{ issuer: i, audience: [a], jwks: { url: "https://i.example/jwks" } }]
                defaults: { upstream: api }

                """#,
            expected: #"""
                gateway.yaml:4:27: error: 'nameservers' must be an IP address with or without a port, as in 127.0.0.1:53, not 'localhost'
                resolver: { nameservers: [localhost, "127.0.0.1:0", "::1"], min_ttl: 10s, max_ttl: 5s, timeout: 0s, ttl: 1s }
                                          ^
                gateway.yaml:4:38: error: 'nameservers' must be an IP address with or without a port, as in 127.0.0.1:53, not '127.0.0.1:0'
                resolver: { nameservers: [localhost, "127.0.0.1:0", "::1"], min_ttl: 10s, max_ttl: 5s, timeout: 0s, ttl: 1s }
                                                     ^
                gateway.yaml:4:75: error: 'max_ttl' must not be shorter than 'min_ttl'
                resolver: { nameservers: [localhost, "127.0.0.1:0", "::1"], min_ttl: 10s, max_ttl: 5s, timeout: 0s, ttl: 1s }
                                                                                          ^
                gateway.yaml:4:97: error: 'timeout' must be a duration from 100ms to 1m, not '0s'
                resolver: { nameservers: [localhost, "127.0.0.1:0", "::1"], min_ttl: 10s, max_ttl: 5s, timeout: 0s, ttl: 1s }
                                                                                                                ^
                gateway.yaml:4:101: error: unknown key 'ttl'
                resolver: { nameservers: [localhost, "127.0.0.1:0", "::1"], min_ttl: 10s, max_ttl: 5s, timeout: 0s, ttl: 1s }
                                                                                                                    ^

                """#),
    ]
}
