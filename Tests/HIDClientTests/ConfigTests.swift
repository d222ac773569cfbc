// SPDX-License-Identifier: Apache-2.0
import HIDClient
import Testing

@Suite struct ConfigTests {
    private func fault(_ url: String, _ application: String = "demo-app", device: String? = nil) -> HumanIDConfigError?
    {
        do throws(HumanIDConfigError) {
            _ = try HumanIDConfig(serverURL: url, applicationID: application, deviceID: device)
            return nil
        } catch {
            return error
        }
    }

    @Test(arguments: ["", " ", "\t\n", "\u{A0}\u{2003}"])
    func `a blank application id is told as blank`(_ application: String) {
        #expect(fault("https://his.test", application) == .blankApplicationID)
    }

    @Test(arguments: [" a", "a b", "a/b", "ä", "a\u{301}", "a\n", "\0", String(repeating: "a", count: 65)])
    func `an application id of other letters or length is malformed`(_ application: String) {
        #expect(fault("https://his.test", application) == .malformedApplicationID)
    }

    @Test(arguments: ["", " ", "a b", "é", String(repeating: "a", count: 129)])
    func `a device id of other letters or length is malformed`(_ device: String) {
        #expect(fault("https://his.test", device: device) == .malformedDeviceID)
    }

    @Test func `ids of the greatest length and every letter are accepted`() {
        #expect(fault("https://his.test", String(repeating: "Z", count: 64)) == nil)
        #expect(fault("https://his.test", "aZ09._-", device: String(repeating: "z", count: 128)) == nil)
    }

    @Test(arguments: [
        ("https://his.test", "https://his.test"), ("https://his.test/", "https://his.test"),
        ("https://his.test:8443//", "https://his.test:8443"),
        ("https://HIS.test/a/b-c_d.e~/", "https://HIS.test/a/b-c_d.e~"),
        ("https://[2001:db8::1]:443/x", "https://[2001:db8::1]:443/x"),
        ("http://localhost:8700", "http://localhost:8700"),
        ("http://LocalHost", "http://LocalHost"), ("http://127.0.0.1:1", "http://127.0.0.1:1"),
        ("http://127.255.255.255", "http://127.255.255.255"), ("http://[::1]:65535/", "http://[::1]:65535"),
    ])
    func `a good server URL is kept without the slash at its end`(_ given: String, _ kept: String) throws {
        #expect(try HumanIDConfig(serverURL: given, applicationID: "a").serverURL == kept)
    }

    @Test(arguments: [
        "http://his.test", "http://127.0.0.1.test", "http://127.0.0.256", "http://127.0.0", "http://128.0.0.1",
        "http://localhost.test", "http://[::2]", "http://[::ffff:127.0.0.1]", "http://0.0.0.0", "http://127.0.0.1a",
        "http://127.0.0.1.", "http://1270.0.1", "http://127.0.0.0001",
    ])
    func `plain http is for loopback addresses alone`(_ url: String) {
        #expect(fault(url) == .insecureServerURL)
    }

    @Test(arguments: [
        "", " ", "his.test", "ftp://his.test", "HTTPS://his.test", "https:/his.test", "https://", "https:///a",
        "https://user@his.test", "https://localhost@evil.test", "https://his.test?x=1", "https://his.test/?x",
        "https://his.test#a",
        "https://his.test/a#b", "https://his.test/ä", "https://his.test/a b", "https://his.test\\evil.test",
        "https://his.test\n",
        "https://his.test:", "https://his.test:0", "https://his.test:65536", "https://his.test:99999999999999999999",
        "https://his.test:8a", "https://his.test:+80", "https://his.test:1:2", "https://[::1", "https://[]",
        "https://[:]",
        "https://[::1]x", "https://[::g]", "https://[::1%25eth0]", "https://his.test/../a", "https://his.test/.",
        "https://his.test/%2e",
        "https://h_s.test", "http://\u{131}.test", "https://" + String(repeating: "a", count: 1020),
    ])
    func `anything else is no server URL`(_ url: String) {
        guard case .malformedServerURL(let words) = fault(url) else {
            Issue.record("\(url) gave \(String(describing: fault(url)))")
            return
        }
        #expect(!words.isEmpty)
    }

    @Test func `no random text makes the reader trap, and what it takes is https or loopback`() throws {
        var generator = SystemRandomNumberGenerator()
        let pieces = [
            "https://", "http://", "localhost", "127.0.0.1", "[::1]", "[", "]", ":", "/", "@", ".", "a", "9", "\u{FF}",
            "\0", "?",
        ]
        for _ in 0..<5_000 {
            let text = (0..<Int.random(in: 0...8, using: &generator)).map { _ in
                pieces.randomElement(using: &generator) ?? ""
            }.joined()
            guard let config = try? HumanIDConfig(serverURL: text, applicationID: "a") else { continue }
            let isLoopback = ["http://localhost", "http://127.", "http://[::1]"].contains {
                config.serverURL.hasPrefix($0)
            }
            #expect(config.serverURL.hasPrefix("https://") || isLoopback, "\(text)")
            #expect(!config.serverURL.contains("@"))
        }
    }
}
