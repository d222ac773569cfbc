// SPDX-License-Identifier: Apache-2.0
import HIDService
import Testing

@Suite struct ScalarTests {
    @Test(arguments: [
        ("0", 0), ("7", 7), ("10000", 10000), ("9223372036854775807", Int.max),
    ])
    func `integers are digits`(text: String, value: Int) {
        #expect(ScalarText.integer(text.utf8) == value)
    }

    @Test(arguments: ["", "+5", "-0", "007", "1e3", "0x10", "1_000", " 1", "9223372036854775808", "\u{0661}"])
    func `what Int takes beyond digits is no integer`(text: String) {
        #expect(ScalarText.integer(text.utf8) == nil)
    }

    @Test(arguments: [
        ("250ms", Duration.milliseconds(250)), ("10s", .seconds(10)), ("5m", .seconds(300)), ("1h", .seconds(3600)),
        ("7d", .seconds(7 * 86400)), ("0s", .zero),
    ])
    func `durations are digits and a unit`(text: String, value: Duration) {
        #expect(ScalarText.duration(text.utf8) == value)
        #expect(ScalarText.text(value) == text)
    }

    @Test(arguments: ["10", "s", "", "1.5s", "10 s", "10S", "1w", "-1s", "1h30m", "9223372036854775807d", "36601d"])
    func `other texts are no durations`(text: String) {
        #expect(ScalarText.duration(text.utf8) == nil)
    }

    @Test(arguments: [
        ("0", 0), ("4096", 4096), ("64KiB", 65536), ("1MiB", 1_048_576), ("1GiB", 1_073_741_824), ("10MB", 10_000_000),
        ("3KB", 3000), ("2GB", 2_000_000_000),
    ])
    func `sizes are octets or digits and a unit`(text: String, value: Int) {
        #expect(ScalarText.size(text.utf8) == value)
    }

    @Test(arguments: ["", "64kb", "64 KiB", "1.5MiB", "64K", "MiB", "8589934592GiB"])
    func `other texts are no sizes`(text: String) {
        #expect(ScalarText.size(text.utf8) == nil)
    }

    @Test func `rates are a count and a unit of time`() {
        #expect(ScalarText.rate("50/s".utf8) == Rate(count: 50, per: .seconds(1)))
        #expect(ScalarText.rate("10/m".utf8) == Rate(count: 10, per: .seconds(60)))
        #expect(ScalarText.rate("5/h".utf8) == Rate(count: 5, per: .seconds(3600)))
        for text in ["", "/s", "50", "50/", "0/s", "50/d", "50/s/s", "-1/s"] {
            #expect(ScalarText.rate(text.utf8) == nil, "\(text)")
        }
    }

    @Test(arguments: [
        ("127.0.0.1:8080", AddressText.tcp(host: "127.0.0.1", port: 8080)),
        ("localhost:0", .tcp(host: "localhost", port: 0)), ("[::1]:65535", .tcp(host: "::1", port: 65535)),
        ("unix:/run/x", .unix(path: "/run/x")), ("fd:http", .descriptor(name: "http")),
    ])
    func `addresses are host and port, a unix path or a socket name`(text: String, address: AddressText) throws {
        #expect(try AddressText(parsing: text) == address)
    }

    @Test(arguments: [
        "", ":80", "127.0.0.1", "127.0.0.1:", "127.0.0.1:080", "127.1:80", "1.2.3.4.5:80", "a b:80", "::1:80", "[::1]",
        "[::1]80", "[fe80::1%eth0]:80", "[127.0.0.1]:80", "unix:", "unix:x", "fd:", "fd:a:b", "a..b:80", "-a:80",
        "h:1:2",
    ])
    func `other texts are no addresses`(text: String) {
        #expect(throws: AddressText.Fault.self) { try AddressText(parsing: text) }
    }

    @Test func `a socket path has at most 107 octets`() throws {
        let path = "/" + String(repeating: "x", count: 106)
        #expect(try AddressText(parsing: "unix:" + path) == .unix(path: path))
        #expect(throws: AddressText.Fault(message: "is longer than the 107 octets of a socket path")) {
            try AddressText(parsing: "unix:" + path + "x")
        }
    }

    @Test func `URLs are split as written`() throws {
        let url = try URLText(parsing: "https://his.example.com/a%2fb/../c?d=e")
        #expect(url.isTLS && url.host == "his.example.com" && url.port == 443)
        #expect(url.target == "/a%2fb/../c?d=e")
        let plain = try URLText(parsing: "http://[::1]:8080")
        #expect(!plain.isTLS && plain.host == "::1" && plain.port == 8080 && plain.target == "")
    }

    @Test(arguments: [
        "", "his.example.com", "ftp://a", "HTTPS://a", "http://", "http:///x", "http://a@b", "http://a#b",
        "http://a/#b", "http://a?b", "http://a:0", "http://a:99999", "http://a b", "http://a\\b", "http://\u{E9}",
        "http://a/\r\nb", "http://999.1.1.1",
    ])
    func `URLs are not repaired`(text: String) {
        #expect(throws: URLText.Fault.self) { try URLText(parsing: text) }
    }

    @Test func `only loopback hosts are loopback`() {
        for host in ["localhost", "127.0.0.1", "127.255.0.9", "::1"] { #expect(HostName.isLoopback(host)) }
        for host in ["128.0.0.1", "::2", "::", "0.0.0.0", "localhost.example.com", "127.0.0.1.example.com"] {
            #expect(!HostName.isLoopback(host))
        }
    }

    @Test(arguments: [
        ("a.yaml", "*.yaml", true), (".yaml", "*.yaml", true), ("a.yml", "*.yaml", false), ("a.yaml", "a.yaml", true),
        ("b.yaml", "a.yaml", false), ("10-a-x.yaml", "10-*-*.yaml", true), ("10-a.yaml", "10-*-*.yaml", false),
        ("aa", "a*a", true), ("a", "a*a", false), ("anything", "*", true), ("abcbd", "a*bd", true), ("", "*", true),
    ])
    func `a star stands for any octets of a name`(name: String, pattern: String, expected: Bool) {
        #expect(FileSystem.matches(name, pattern: pattern) == expected)
    }
}
