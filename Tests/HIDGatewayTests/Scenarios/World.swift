// SPDX-License-Identifier: Apache-2.0
import Foundation
import HIDHTTP
import HIDStore
import HIDTesting

/// What an exchange that is played alone finds around it; Tests/HIDGatewayTests/Scenarios/InProcess/README.md.
struct World: Sendable {
    /// 198.51.100.9, nobody's proxy; the configuration trusts 192.0.2.7.
    var peer = PeerAddress(high: 0, low: 0xFFFF_C633_6409)
    /// Whether the marks of the last run were kept, so that no token is too old for this one.
    var keptMarks = false
    var isOverFailureBudget = false
    private var replayAnswer: ReplayAnswer?

    init() {}

    /// Reads the words of a `world:` line.
    init(words: String) throws {
        for word in words.split(separator: " ") {
            switch word {
            case "replay=full": replayAnswer = .full
            case "replay=unavailable": replayAnswer = .unavailable
            case "start=none": keptMarks = true
            case "budget=over": isOverFailureBudget = true
            default:
                guard word.hasPrefix("peer="), let address = PeerAddress(text: Array(word.dropFirst(5).utf8)) else {
                    throw Scenario.Malformed(description: "unknown word \(word)")
                }
                peer = address
            }
        }
    }

    /// A store for one scenario.
    var replay: any ReplayStore {
        replayAnswer.map { StubbornReplayStore($0) } ?? MemoryReplayStore()
    }
}

/// Has one answer for everything.
private final class StubbornReplayStore: ReplayStore {
    private let answer: ReplayAnswer

    init(_ answer: ReplayAnswer) {
        self.answer = answer
    }

    func useOnce(_ use: ReplayUse, now: UInt64, answer: @escaping (ReplayAnswer) -> Void) {
        answer(self.answer)
    }
}

/// A scenario that is only played against the exchange alone, and its world.
struct LonelyScenario: Sendable, CustomStringConvertible {
    let scenario: Scenario
    let world: World

    var description: String { scenario.name }

    init(name: String, text: String) throws {
        var lines = text.split(separator: "\n", omittingEmptySubsequences: false).map(String.init)
        var words = ""
        if let index = lines.firstIndex(where: { $0.hasPrefix("world: ") }) {
            words = String(lines[index].dropFirst(7))
            // A comment in its place keeps the numbers of the lines.
            lines[index] = "#"
        }
        world = try World(words: words)
        scenario = try Scenario(name: name, text: lines.joined(separator: "\n"))
    }

    private static let folder = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
        .appendingPathComponent("InProcess").path

    private static let names = ((try? FileManager.default.contentsOfDirectory(atPath: folder)) ?? [])
        .filter { $0.hasSuffix(".scenario") }.sorted()

    static let fileCount = names.count

    static let all = names.compactMap { name in
        (try? String(contentsOfFile: "\(folder)/\(name)", encoding: .utf8)).flatMap {
            try? LonelyScenario(name: String(name.dropLast(9)), text: $0)
        }
    }
}
