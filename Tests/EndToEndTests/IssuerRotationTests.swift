// SPDX-License-Identifier: Apache-2.0
import Foundation
import HIDClient
import HIDTesting
import Testing

/// Rotation of the signing keys by the operator's own tool.
@Suite(.timeLimit(.minutes(10))) struct IssuerRotationTests {
    /// What came of the logins.
    private struct Board: Sendable {
        var statuses: [Int: Int] = [:]
        var kids: Set<String> = []
        var faults: [String] = []
        var ended = 0
        var isOver = false
    }

    private func admin(_ his: IssuerBench) throws -> String {
        guard case .port(let port)? = his.daemon.admin else { throw DaemonFault(description: "no admin listener") }
        return "127.0.0.1:\(port)"
    }

    private func rotate(_ his: IssuerBench, _ overlap: String) throws -> JSONValue {
        let outcome = try IssuerBench.hidctl(
            "keys", "rotate", "--admin", admin(his), "--overlap", overlap, "--json")
        #expect(outcome.exit == 0, "\(outcome.output)")
        return try #require(JSONValue(outcome.output))
    }

    /// A device that logs in again and again until the board says that it is over.
    private static func keepLoggingIn(_ phone: SDKPhone, _ address: WireAddress, _ board: Monitor<Board>) {
        defer { board.withLock { $0.ended += 1 } }
        do {
            let client = try RawClient(address)
            while !board.withLock({ $0.isOver }) {
                let (request, token) = try phone.login()
                let status = try client.exchange(request)?.status ?? 0
                let kid = TokenText.member("kid", of: token.value, true).text ?? ""
                board.withLock { board in
                    board.statuses[status, default: 0] += 1
                    board.kids.insert(kid)
                }
            }
        } catch {
            board.withLock { $0.faults.append("\(error)") }
        }
    }

    @Test func `no login is refused while the keys are rotated twice under load`() throws {
        let his = try IssuerBench(.init(loops: 2))
        let gateway = try his.gateway()
        let board = Monitor(Board())
        for _ in 0..<3 {
            let (phone, address) = (try SDKPhone(his), gateway.address)
            Thread.detachNewThread { Self.keepLoggingIn(phone, address, board) }
        }
        #expect(board.wait { ($0.statuses[200] ?? 0) >= 10 ? true : nil } == true)
        let before = try his.publishedKeys()
        #expect(before.count == 2)

        let first = try rotate(his, "2s")
        #expect(first["previous"].text == before[0])
        #expect(first["kid"].text == before[1], "the key that was published and stood by")
        let second = try #require(first["kid"].text)
        #expect(board.wait { $0.kids.contains(second) ? true : nil } == true)
        let published = try his.publishedKeys()
        #expect(published.count == 3, "the retired key is still published")
        #expect(published[0] == second)

        // An overlap shorter than the set may be kept wants verifiers that fetch it again.
        gateway.daemon.child.signal(SIGHUP)
        let loads = "hidgate_jwks_loads_total{issuer=\"https://his.test\"} 2\n"
        #expect(try IssuerBench.eventually { try gateway.admin("/metrics")?.text.contains(loads) == true })
        let third = try #require(try rotate(his, "2s")["kid"].text)
        #expect(!before.contains(third))
        #expect(board.wait { $0.kids.contains(third) ? true : nil } == true)
        let count = board.withLock { $0.statuses[200] ?? 0 }
        #expect(board.wait { ($0.statuses[200] ?? 0) >= count + 10 ? true : nil } == true)
        board.withLock { $0.isOver = true }
        #expect(board.wait { $0.ended == 3 ? true : nil } == true)
        let final = board.withLock { $0 }
        #expect(final.faults == [])
        #expect(final.statuses.keys.sorted() == [200], "\(final.statuses)")
        #expect(final.kids == [before[0], second, third])
    }

    @Test func `keys list shows what each key does, and a restart changes nothing`() throws {
        let his = try IssuerBench()
        _ = try rotate(his, "0s")
        let isSigning = try IssuerBench.eventually {
            try IssuerBench.hidctl("keys", "list", "--admin", admin(his)).output.contains("retiring")
        }
        #expect(isSigning)
        let text = try IssuerBench.hidctl("keys", "list", "--admin", admin(his))
        #expect(text.exit == 0)
        let published = try his.publishedKeys()
        for (kid, state) in zip(published, ["signing", "retiring", "next"]) {
            let line = text.output.split(separator: "\n").first { $0.contains(kid) }
            #expect(line != nil)
            if state == "signing" { #expect(line?.contains(state) == true, "\(text.output)") }
        }
        for state in ["signing", "retiring", "next"] { #expect(text.output.contains("  \(state)  "), "\(text.output)") }
        let json = JSONValue(try IssuerBench.hidctl("keys", "list", "--admin", admin(his), "--json").output)
        #expect(json?["keys"].elements.compactMap { $0["kid"].text } == published)
        #expect(his.stop() == 0)
        try his.restart()
        let again = JSONValue(try IssuerBench.hidctl("keys", "list", "--admin", admin(his), "--json").output)
        func byName(_ json: JSONValue?) -> [String: JSONValue] {
            let keys = json?["keys"].elements ?? []
            return Dictionary(keys.map { ($0["kid"].text ?? "", $0) }) { first, _ in first }
        }
        #expect(byName(again).count == 3)
        #expect(byName(again) == byName(json))
    }

    @Test func `rotations within an overlap make one new key and not one each`() throws {
        let his = try IssuerBench()
        let first = try rotate(his, "1h")
        for _ in 0..<20 {
            let body = "{\"overlap\":\"1h\"}"
            let answer = try his.admin("/api/keys/rotate", method: "POST", body: body)
            #expect(answer?.status == 200)
            #expect(answer.flatMap { JSONValue($0.text) }?["kid"] == first["kid"])
        }
        #expect(try his.publishedKeys().count == 3)
        let sooner = try rotate(his, "0s")
        #expect(sooner["kid"] == first["kid"])
        #expect(try #require(sooner["activates"].text) < #require(first["activates"].text))
        #expect(try IssuerBench.eventually { try his.publishedKeys().first == first["kid"].text })
        #expect(his.stop() == 0)
        try his.restart()
        #expect(try his.publishedKeys().count == 3)
    }

    @Test func `more keys than a directory may hold are refused, and the next start reads all`() throws {
        let his = try IssuerBench()
        var statuses: [Int] = []
        for _ in 0..<40 where statuses.last != 409 {
            let answer = try his.admin("/api/keys/rotate", method: "POST", body: "{\"overlap\":\"0s\"}")
            statuses.append(answer?.status ?? 0)
            let kid = answer.flatMap { JSONValue($0.text) }?["kid"].text
            guard answer?.status == 200 else { continue }
            #expect(try IssuerBench.eventually { try his.publishedKeys().first == kid })
        }
        #expect(statuses == Array(repeating: 200, count: 14) + [409])
        let refused = try IssuerBench.hidctl("keys", "rotate", "--admin", admin(his), "--overlap", "0s")
        #expect(refused.exit == 1)
        #expect(refused.output.contains("16 keys are published"), "\(refused.output)")
        let published = try his.publishedKeys()
        #expect(published.count == 16)
        #expect(his.stop() == 0)
        try his.restart()
        #expect(try his.publishedKeys().first == published[0])
        #expect(Set(try his.publishedKeys()) == Set(published))
        #expect(try SDKPhone(his).token().verdict == "human")
    }

    @Test func `wrong usage and a server that is not there have their own exit codes`() throws {
        let usage = try IssuerBench.hidctl("keys", "rotate", "--admin", "127.0.0.1:1", "--overlap", "soon")
        #expect(usage.exit == 2)
        #expect(try IssuerBench.hidctl("keys", "list", "--admin", "nonsense").exit == 2)
        #expect(try IssuerBench.hidctl("keys", "rotat").exit == 2)
        let silent = try IssuerBench.hidctl("keys", "list", "--admin", "127.0.0.1:1")
        #expect(silent.exit == 1)
        #expect(silent.output.contains("no answer from the admin listener"))
        let folder = try TestFolder()
        let file = try folder.write("his.yaml", "version: 1\n")
        let sectionless = try IssuerBench.hidctl("keys", "list", "--config", file)
        #expect(sectionless.exit == 1)
        #expect(sectionless.output.contains("has no 'admin' section"))
    }
}
