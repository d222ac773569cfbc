// SPDX-License-Identifier: Apache-2.0
import Foundation
import HIDCrypto
import HIDTesting
import HIDVerifier
import Testing

// begin example
func verifier(keySet: [UInt8]) throws -> RequestVerifier? {
    let policy = IssuerPolicy(
        issuer: "https://his.example.com", audience: ["demo-app"], keys: try KeySet(jwks: keySet))
    return RequestVerifier(tokens: TokenVerifier(issuers: [policy]), accepting: [.v2])
}

func isAccepted(
    _ request: SignedRequest, token: [UInt8]?, signature: [UInt8]?, body: [UInt8], now: Int64,
    by verifier: RequestVerifier, usedTokens: inout Set<ReplayKey>
) -> Bool {
    let check = verifier.check(request, token: token, signature: signature, body: body, now: now)
    guard check.reason == nil, let claims = check.token else { return false }
    // The mark comes last, so that a bad request cannot use up a good token.
    return usedTokens.insert(claims.replayKey).inserted
}
// end example

/// The example for backends compiles, and does what its page says.
@Suite struct ReadmeEmbeddingTests {
    @Test func `the example on the page is the one that is compiled here`() throws {
        let page = try Pages.blocks("swift", of: Pages.verifier + "Embedding.md")
        let file = try Pages.text("Tests/EndToEndTests/ReadmeEmbeddingTests.swift")
        let parts = file.components(separatedBy: "// begin example\n")[1].components(separatedBy: "// end example\n")
        #expect(page == [parts[0]])
    }

    @Test func `a signed request is accepted once, an altered one never`() throws {
        let folder = FileManager.default.temporaryDirectory.appendingPathComponent("hid-embed-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        let keys = folder.appendingPathComponent("jwks.json")
        let url = "http://api.example.com/api/v1/login"
        let outcome = try Pages.run(
            "hidctl",
            [
                "device", "simulate", "--issuer-key", folder.path + "/issuer.pem", "--jwks-out", keys.path,
                "--url", url, "--body", "hello", "--print-headers",
            ])
        try #require(outcome.exit == 0, "\(outcome.output)")
        let fields = outcome.output.split(separator: "\n").map { $0.components(separatedBy: ": ") }
        let token = Array(try #require(fields.first { $0[0] == "X-HID-Token" })[1].utf8)
        let signature = Array(try #require(fields.first { $0[0] == "X-HID-Signature" })[1].utf8)
        let verifier = try #require(try verifier(keySet: Array(Data(contentsOf: keys))))
        let request = SignedRequest(
            method: Array("POST".utf8), authority: Array("api.example.com".utf8), target: Array("/api/v1/login".utf8))
        let now = Int64(Date().timeIntervalSince1970)
        var used: Set<ReplayKey> = []

        func isAccepted(body: String) -> Bool {
            EndToEndTests.isAccepted(
                request, token: token, signature: signature, body: Array(body.utf8), now: now, by: verifier,
                usedTokens: &used)
        }
        #expect(!isAccepted(body: "hello!"))
        #expect(isAccepted(body: "hello"))
        #expect(!isAccepted(body: "hello"))
    }
}
