// SPDX-License-Identifier: Apache-2.0
import HIDClient
import HIDCrypto
import HIDTesting
import Testing

/// The SDK with its own transport, against sockets.
@Suite(.timeLimit(.minutes(10))) struct NetworkTests {
    private let clock = ManualClock()
    private let model: ModelServer

    init() throws { model = try ModelServer(clock: clock) }

    private func sdk(_ url: String, _ change: (inout HumanIDConfig) -> Void = { _ in }) throws -> HumanIDSDK {
        var config = try HumanIDConfig(serverURL: url, applicationID: "app-1")
        change(&config)
        return HumanIDSDK(config: config, keyHolder: try SoftwareKeyHolder(authorityKey: model.authority.pem()))
    }

    private func error(_ sdk: HumanIDSDK) async -> HumanIDFailure? {
        await failure { () async throws(HumanIDError) in try await sdk.getToken() }?.failure
    }

    @Test(arguments: ["", "/below/a/path/"])
    func `the whole flow over a socket`(_ path: String) async throws {
        let prefix = path.isEmpty ? "" : "/below/a/path"
        let upstream = try ScriptedUpstream(
            ScriptedUpstream.answering { [model] request in
                let target = String(request.target.dropFirst(prefix.utf8.count))
                let answer = model.answer(target, JSONValue(request.text) ?? .missing)
                let fields = "Content-Type: application/json\r\n"
                let body = String(decoding: answer.body, as: UTF8.self)
                return "HTTP/1.1 \(answer.status) X\r\n\(fields)Content-Length: \(body.utf8.count)\r\n\r\n\(body)"
            })
        let sdk = try sdk(upstream.url + path)
        let token = try await sdk.getToken()
        #expect((1...30).contains(token.expiresIn))
        _ = try await sdk.signRequestBody([1])
        _ = try await sdk.getToken()
        let requests = upstream.requests
        #expect(requests.map(\.target) == ["c", "v", "c", "v"].map { "\(prefix)/v1/m/hid/\($0)" })
        #expect(requests.allSatisfy { $0.method == "POST" && $0["Content-Type"] == "application/json" })
        #expect(requests.allSatisfy { $0["Expect"] == nil && $0["Cookie"] == nil && $0["Host"]?.isEmpty == false })
    }

    @Test func `a refused connection is a network error with libcurl's words`() async throws {
        let upstream = try ScriptedUpstream()
        let url = upstream.url
        upstream.stop()
        guard case .network(let words) = await error(try sdk(url)) else {
            Issue.record("no network error")
            return
        }
        #expect(!words.isEmpty)
    }

    @Test func `a server that accepts and says nothing is a timeout`() async throws {
        let gate = Gate()
        let upstream = try ScriptedUpstream { peer in
            _ = try peer.request()
            gate.wait()
        }
        let sdk = try sdk(upstream.url) { $0.requestTimeout = .milliseconds(150) }
        #expect(await error(sdk) == .timeout)
        gate.open()
    }

    @Test func `Retry-After comes through`() async throws {
        let upstream = try ScriptedUpstream(
            ScriptedUpstream.answering { _ in
                "HTTP/1.1 429 Too Many Requests\r\nRetry-After: 12\r\nContent-Length: 0\r\n\r\n"
            })
        let sdk = try sdk(upstream.url)
        #expect(await error(sdk) == .rateLimited(retryAfter: .seconds(12)))
        #expect(await error(sdk) == .rateLimited(retryAfter: .seconds(12)))
        #expect(upstream.requests.count == 1)
    }

    @Test func `a redirect is not followed`() async throws {
        let upstream = try ScriptedUpstream(
            ScriptedUpstream.answering { _ in
                "HTTP/1.1 307 X\r\nLocation: /elsewhere\r\nContent-Length: 0\r\n\r\n"
            })
        #expect(await error(try sdk(upstream.url)) == .badAnswer("status 307"))
        #expect(upstream.requests.count == 1)
    }

    @Test func `an endless answer is cut at the limit`() async throws {
        let upstream = try ScriptedUpstream { peer in
            _ = try peer.request()
            try peer.send("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n")
            let chunk = "400\r\n" + String(repeating: " ", count: 1024) + "\r\n"
            while true { try peer.send(chunk) }
        }
        #expect(await error(try sdk(upstream.url)) == .badAnswer("over 65536 octets"))
    }

    @Test func `roots that cannot be read are a network error`() async throws {
        let sdk = try sdk("https://127.0.0.1:9") { $0.certificateAuthorities = "/nonexistent/roots.pem" }
        guard case .network = await error(sdk) else {
            Issue.record("no network error")
            return
        }
    }

    @Test func `without hardware keys and without a test authority every call says so`() async throws {
        let config = try HumanIDConfig(serverURL: "https://his.test", applicationID: "app-1")
        let sdk = HumanIDSDK(config: config)
        guard case .keyUnavailable(.unsupported(let words)) = await error(sdk) else {
            Issue.record("there is a key")
            return
        }
        #expect(words.contains(SoftwareKeyHolder.authorityVariable))
    }
}
