// SPDX-License-Identifier: Apache-2.0
import Foundation
import HIDClient
import HIDTesting
import Testing

// begin example
struct LoginClient: Sendable {
    let sdk: HumanIDSDK

    init(server: String) throws {
        sdk = HumanIDSDK(config: try HumanIDConfig(serverURL: server, applicationID: "demo-app"))
    }

    /// The fields that a login request needs besides its own.
    func fields(body: [UInt8]) async throws -> [String: String] {
        do {
            return try await sdk.signRequest(
                method: "POST", authority: "api.example.com", target: "/api/v1/login", body: body
            ).headers
        } catch {
            guard error.isRetryable else { throw error }
            throw LoginFault.tryAgainLater(after: error.retryAfter ?? .seconds(1))
        }
    }
}
// end example

enum LoginFault: Error, Equatable {
    case tryAgainLater(after: Duration)
}

/// The code on the pages compiles, and the pages name what there is.
@Suite struct DocumentationTests {
    private static let root = URL(fileURLWithPath: #filePath)
        .deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()

    private func text(_ path: String) throws -> String {
        try String(contentsOf: Self.root.appendingPathComponent(path), encoding: .utf8)
    }

    @Test func `the example on the page is the one that is compiled here, in twenty lines`() throws {
        let page = try text("Sources/HIDClient/Documentation.docc/Login.md")
        let block = try #require(page.components(separatedBy: "```swift\n").dropFirst().first)
        let shown = try #require(block.components(separatedBy: "```\n").first)
        let file = try text("Tests/HIDClientTests/DocumentationTests.swift")
        let compiled = file.components(separatedBy: "// begin example\n")[1]
            .components(separatedBy: "// end example\n")[0]
        #expect(shown == "import HIDClient\n\n" + compiled)
        #expect(compiled.split(separator: "\n").count <= 20)
    }

    @Test func `the example passes on what went wrong`() async throws {
        let login = try LoginClient(server: "http://127.0.0.1:9")
        await #expect(throws: HumanIDError.self) { try await login.fields(body: []) }
    }

    @Test func `the page of errors has a row for each`() throws {
        let page = try text("Sources/HIDClient/Documentation.docc/ErrorsAndRetry.md")
        let source = try text("Sources/HIDClient/HumanIDError.swift")
        let names = source.components(separatedBy: "\n").compactMap { line -> String? in
            guard line.hasPrefix("    case "), !line.contains(".") else { return nil }
            return String(line.dropFirst(9).prefix { $0.isLetter })
        }
        #expect(names.count == 21)
        for name in names { #expect(page.contains("`\(name)"), "\(name)") }
    }
}
