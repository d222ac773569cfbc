// SPDX-License-Identifier: Apache-2.0
import HIDClient
import HIDCrypto
import HIDTesting
import HIDVerifier
import Testing

/// Signatures as the gateway's own library sees them.
@Suite(.timeLimit(.minutes(10))) struct SigningTests {
    private let bench: Bench
    private let body = Array("{\"u\":\"a\"}".utf8)

    init() throws { bench = try Bench() }

    private func signed(_ body: [UInt8], target: String = "/login") async throws -> HumanIDSignedHeaders {
        try await bench.sdk.signRequest(method: "POST", authority: "API.test:8443", target: target, body: body)
    }

    @Test func `a body is not signed before there is a token`() async throws {
        let sdk = bench.sdk
        let error = await failure { () async throws(HumanIDError) in try await sdk.signRequestBody([]) }
        #expect(error == .signRequestBodyFailed(.noToken))
        try await sdk.prefetchToken()
        _ = try await signed(body)
        let second = await failure { () async throws(HumanIDError) in try await sdk.signRequestBody([]) }
        #expect(second == .signRequestBodyFailed(.noToken))
        _ = try await sdk.getToken()
        _ = try await sdk.signRequestBody([])
    }

    @Test func `a signed body passes with its token`() async throws {
        for body in [[], [0], body, [UInt8](repeating: 0xFF, count: 100_000)] {
            let token = try await bench.sdk.getToken()
            let signature = try await bench.sdk.signRequestBody(body)
            #expect(try bench.gateway(token.value, signature, body: body, accepting: .v1) == nil)
            #expect(try bench.gateway(token.value, signature, body: body + [0], accepting: .v1) == .signatureInvalid)
            #expect(try bench.gateway(token.value, signature, body: body, accepting: .v2) == .signatureProfile)
            let text = Array(signature.utf8)
            let decoded = Base64.decode(text.span)
            let octets = try #require(decoded)
            #expect(octets.first == 0x30 || octets.count == 64)
        }
    }

    @Test func `a token whose signature was made is not given again`() async throws {
        let first = try await bench.sdk.getToken()
        _ = try await bench.sdk.signRequestBody(body)
        // A second signature with the same token is a retry.
        _ = try await bench.sdk.signRequestBody(body)
        #expect(bench.server.calls.count == 2)
        let second = try await bench.sdk.getToken()
        #expect(first != second && bench.server.calls.count == 4)
        #expect(try await bench.sdk.getToken() == second)
    }

    @Test func `a signed request passes, and none of its parts may change`() async throws {
        let signed = try await signed(body)
        #expect(signed.headers == ["X-HID-Token": signed.token.value, "X-HID-Signature": signed.signature])
        #expect(signed.signature.hasPrefix("v2.") && signed.signature.utf8.count == 89)
        let token = signed.token.value
        #expect(try bench.gateway(token, signed.signature, body: body, accepting: .v2) == nil)
        #expect(try bench.gateway(token, signed.signature, body: body + [0], accepting: .v2) == .signatureBinding)
        #expect(
            try bench.gateway(token, signed.signature, body: body, target: "/Login", accepting: .v2)
                == .signatureBinding)
        let other = try await self.signed(body)
        #expect(try bench.gateway(other.token.value, signed.signature, body: body, accepting: .v2) == .signatureBinding)
    }

    @Test(arguments: ["/", "/a?b=c&d=%20", "/%2e%2e/x", "//x", "/a:b@c"])
    func `targets are signed as they are sent`(_ target: String) async throws {
        let signed = try await signed([], target: target)
        #expect(
            try bench.gateway(signed.token.value, signed.signature, body: [], target: target, accepting: .v2) == nil)
    }

    @Test(arguments: [
        ("", "a", "/"), ("PO ST", "a", "/"), ("POST\n", "a", "/"), ("PÖST", "a", "/"), ("POST", "", "/"),
        ("POST", "a b", "/"), ("POST", "a\n", "/"), ("POST", "a/b", "/"), ("POST", "u@a", "/"), ("POST", "ä", "/"),
        ("POST", "a", ""), ("POST", "a", "x"), ("POST", "a", "https://a/"), ("POST", "a", "*"), ("POST", "a", "/ x"),
        ("POST", "a", "/x\n/y"), ("POST", "a", "/x#y"), ("POST", "a", "/ä"), ("POST", "a", "/\0"),
    ])
    func `a part that cannot stand in a request is refused without a token`(
        _ method: String, _ authority: String, _ target: String
    ) async throws {
        let sdk = bench.sdk
        let error = await failure { () async throws(HumanIDError) in
            try await sdk.signRequest(method: method, authority: authority, target: target, body: [])
        }
        guard case .signRequestBodyFailed(.invalidRequest(let words)) = error else {
            Issue.record("\(String(describing: error))")
            return
        }
        #expect(!words.isEmpty && bench.server.calls.isEmpty)
    }

    @Test func `a key that was replaced does not sign for an older token, and the next token is of the new key`()
        async throws
    {
        let first = try await bench.sdk.getToken()
        _ = try await bench.keys.inner.makeKey()
        let sdk = bench.sdk
        let error = await failure { () async throws(HumanIDError) in try await sdk.signRequestBody([]) }
        #expect(error == .signRequestBodyFailed(.keyUnavailable(.invalidated)))
        let second = try await sdk.getToken()
        #expect(first.hid != second.hid)
        let signature = try await sdk.signRequestBody(body)
        #expect(try bench.gateway(second.value, signature, body: body, accepting: .v1) == nil)
    }

    @Test func `a key error of a signature is told as one of the signature, and changes no pause`() async throws {
        let sdk = bench.sdk
        _ = try await sdk.getToken()
        bench.keys.run { step, number in step == .sign && number == 0 ? .unavailable("locked") : nil }
        let error = await failure { () async throws(HumanIDError) in try await sdk.signRequestBody([]) }
        #expect(error == .signRequestBodyFailed(.keyUnavailable(.unavailable("locked"))) && error?.isRetryable == true)
        #expect(sdk.backoffRemaining == nil)
        _ = try await sdk.signRequestBody([])
    }
}
