// SPDX-License-Identifier: Apache-2.0

extension IssuerConfigurationFault {
    /// Sections that may be left out.
    static let running: [IssuerConfigurationFault] = [
        IssuerConfigurationFault(
            "a life that is too short", section: "extra",
            #"""
            token: { life: 4s }
            """#,
            expected: #"""
                his.yaml:7:16: error: 'life' must be a duration from 5s to 1m, not '4s'
                token: { life: 4s }
                               ^

                """#),
        IssuerConfigurationFault(
            "a life that is too long", section: "extra",
            #"""
            token: { life: 61s }
            """#,
            expected: #"""
                his.yaml:7:16: error: 'life' must be a duration from 5s to 1m, not '61s'
                token: { life: 61s }
                               ^

                """#),
        IssuerConfigurationFault(
            "a life without a unit", section: "extra",
            #"""
            token: { life: 30 }
            """#,
            expected: #"""
                his.yaml:7:16: error: 'life' must be a duration like 250ms, 10s, 5m, 1h or 7d, not '30'
                token: { life: 30 }
                               ^

                """#),
        IssuerConfigurationFault(
            "an unknown key of token", section: "extra",
            #"""
            token: { live: 30s }
            """#,
            expected: #"""
                his.yaml:7:10: error: unknown key 'live', did you mean 'life'?
                token: { live: 30s }
                         ^

                """#),
        IssuerConfigurationFault(
            "a rate without a unit", section: "extra",
            #"""
            rate_limits: { per_client: 50 }
            """#,
            expected: #"""
                his.yaml:7:28: error: 'per_client' must be a rate like 50/s, 10/m or 5/h, not '50'
                rate_limits: { per_client: 50 }
                                           ^

                """#),
        IssuerConfigurationFault(
            "a rate of nothing", section: "extra",
            #"""
            rate_limits: { per_device: 0/s }
            """#,
            expected: #"""
                his.yaml:7:28: error: 'per_device' must be a rate like 50/s, 10/m or 5/h, not '0/s'
                rate_limits: { per_device: 0/s }
                                           ^

                """#),
        IssuerConfigurationFault(
            "a rate of an unknown unit", section: "extra",
            #"""
            rate_limits: { attestations: 5/d }
            """#,
            expected: #"""
                his.yaml:7:30: error: 'attestations' must be a rate like 50/s, 10/m or 5/h, not '5/d'
                rate_limits: { attestations: 5/d }
                                             ^

                """#),
        IssuerConfigurationFault(
            "an unknown limit", section: "extra",
            #"""
            rate_limits: { per_clients: 5/s }
            """#,
            expected: #"""
                his.yaml:7:16: error: unknown key 'per_clients', did you mean 'per_client'?
                rate_limits: { per_clients: 5/s }
                               ^

                """#),
        IssuerConfigurationFault(
            "an admin address for everybody without a token", section: "extra",
            #"""
            admin: { address: 0.0.0.0:8702 }
            """#,
            expected: #"""
                his.yaml:7:19: error: an admin address that is not loopback needs 'token_file'
                admin: { address: 0.0.0.0:8702 }
                                  ^

                """#),
        IssuerConfigurationFault(
            "an admin token file that is not there", section: "extra",
            #"""
            admin: { address: 127.0.0.1:8702, token_file: none }
            """#,
            expected: #"""
                his.yaml:7:47: error: 'token_file': cannot read 'none': no such file or directory
                admin: { address: 127.0.0.1:8702, token_file: none }
                                                              ^

                """#),
        IssuerConfigurationFault(
            "an admin token file that is a directory", section: "extra",
            #"""
            admin: { address: 127.0.0.1:8702, token_file: dir }
            """#,
            expected: #"""
                his.yaml:7:47: error: 'token_file': cannot read 'dir': is a directory
                admin: { address: 127.0.0.1:8702, token_file: dir }
                                                              ^

                """#),
        IssuerConfigurationFault(
            "an admin address of a listener", section: "extra",
            #"""
            admin: { address: 127.0.0.1:8700 }
            """#,
            expected: #"""
                his.yaml:7:19: error: the admin address is also the address of a listener
                admin: { address: 127.0.0.1:8700 }
                                  ^

                """#),
        IssuerConfigurationFault(
            "no admin address", section: "extra",
            #"""
            admin: {}
            """#,
            expected: #"""
                his.yaml:7:8: error: missing key 'address' in 'admin'
                admin: {}
                       ^

                """#),
        IssuerConfigurationFault(
            "a timeout of nothing", section: "extra",
            #"""
            timeouts: { drain: 0s }
            """#,
            expected: #"""
                his.yaml:7:20: error: 'drain' must be a duration from 1ms to 365d, not '0s'
                timeouts: { drain: 0s }
                                   ^

                """#),
        IssuerConfigurationFault(
            "an unknown timeout", section: "extra",
            #"""
            timeouts: { headers: 1s }
            """#,
            expected: #"""
                his.yaml:7:13: error: unknown key 'headers', did you mean 'header'?
                timeouts: { headers: 1s }
                            ^

                """#),
        IssuerConfigurationFault(
            "too many loops", section: "extra",
            #"""
            loops: 257
            """#,
            expected: #"""
                his.yaml:7:8: error: 'loops' must be a whole number from 0 to 256, not '257'
                loops: 257
                       ^

                """#),
        IssuerConfigurationFault(
            "a negative number of loops", section: "extra",
            #"""
            loops: -1
            """#,
            expected: #"""
                his.yaml:7:8: error: 'loops' must be a whole number from 0 to 256, not '-1'
                loops: -1
                       ^

                """#),
    ]
}
