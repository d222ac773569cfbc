// SPDX-License-Identifier: Apache-2.0
import Testing

/// Rules of the house that a text search can hold.
@Suite struct HouseRuleTests {
    let sources: [SourceTree.SourceFile]
    let tests: [SourceTree.SourceFile]

    init() throws {
        sources = try SourceTree.swiftFiles(below: "Sources")
        tests = try SourceTree.swiftFiles(below: "Tests")
    }

    @Test func `a main file has less than 80 lines`() {
        let mains = sources.filter { $0.path.hasSuffix("/main.swift") }
        #expect(mains.count >= 2)
        for file in mains { #expect(file.lines.count < 80, "\(file)") }
    }

    @Test func `no file has more than 500 lines`() {
        // The last element is what follows the last line break.
        for file in sources + tests { #expect(file.lines.count - 1 <= 500, "\(file): \(file.lines.count - 1)") }
    }

    @Test(arguments: ["try!", "as!", "fatalError("])
    func `nothing in the sources ends the process on bad input`(_ word: String) {
        for file in sources {
            for (index, line) in file.lines.enumerated() where line.contains(word) {
                Issue.record("\(file):\(index + 1) holds \(word)")
            }
        }
    }

    @Test(arguments: ["TO" + "DO", "FIX" + "ME", "XX" + "X"])
    func `nothing is left to do`(_ word: String) {
        for file in sources + tests {
            for (index, line) in file.lines.enumerated() where line.contains(word) {
                let isWord = line.split { !$0.isLetter && !$0.isNumber && $0 != "_" }.contains { $0 == word }
                if isWord { Issue.record("\(file):\(index + 1) holds \(word)") }
            }
        }
    }

    @Test func `every file names its license`() {
        for file in sources + tests {
            #expect(file.lines.prefix(2).contains { $0.contains("SPDX-License-Identifier: Apache-2.0") }, "\(file)")
        }
    }

    @Test func `code that the compiler cannot check for memory safety stays where it is audited`() {
        // Targets that parse what clients send work on spans alone.
        for file in sources where file.target == "HIDVerifier" {
            for (index, line) in file.lines.enumerated() where line.contains("unsafe ") {
                Issue.record("\(file):\(index + 1) uses unsafe")
            }
        }
    }
}
