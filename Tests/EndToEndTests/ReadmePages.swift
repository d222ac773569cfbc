// SPDX-License-Identifier: Apache-2.0
import Foundation

/// The package's own pages, and the programs that were built with these tests.
enum Pages {
    /// The folder with Package.swift.
    static let root = URL(fileURLWithPath: #filePath)
        .deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()

    static let gateway = "Sources/HIDGateway/Documentation.docc/"
    static let verifier = "Sources/HIDVerifier/Documentation.docc/"
    static let issuer = "Sources/HIDIssuer/Documentation.docc/"
    static let client = "Sources/HIDClient/Documentation.docc/"

    /// Every page with commands or links.
    static let all: [String] = {
        let catalogues = [gateway, verifier, issuer, client].flatMap { folder in
            let names = try? FileManager.default.contentsOfDirectory(atPath: root.path + "/" + folder)
            return (names ?? []).filter { $0.hasSuffix(".md") }.sorted().map { folder + $0 }
        }
        return ["README.md", "SECURITY.md", "CHANGELOG.md", ".github/CONTRIBUTING.md"] + catalogues
    }()

    static func text(_ path: String) throws -> String {
        try String(contentsOf: root.appendingPathComponent(path), encoding: .utf8)
    }

    static func lines(_ path: String) throws -> [String] {
        try text(path).components(separatedBy: "\n")
    }

    static func exists(_ path: String) -> Bool {
        FileManager.default.fileExists(atPath: root.appendingPathComponent(path).path)
    }

    /// The texts of the Swift files below a folder.
    static func sources(_ folder: String) throws -> [String] {
        let base = root.appendingPathComponent(folder)
        let names = try FileManager.default.subpathsOfDirectory(atPath: base.path)
        return try names.filter { $0.hasSuffix(".swift") }.map { try text(folder + "/" + $0) }
    }

    /// The contents of the fenced blocks of one language.
    static func blocks(_ language: String, of path: String) throws -> [String] {
        var blocks: [String] = []
        var current: [String]?
        for line in try lines(path) {
            if let open = current {
                if line == "```" {
                    blocks.append(open.joined(separator: "\n") + "\n")
                    current = nil
                } else {
                    current = open + [line]
                }
            } else if line == "```" + language {
                current = []
            }
        }
        return blocks
    }

    /// The rows of all tables whose header row begins with that cell, without header and rule.
    static func rows(under heading: String, of path: String) throws -> [[String]] {
        var rows: [[String]] = []
        var isInside = false
        for line in try lines(path) {
            guard line.hasPrefix("|") else {
                isInside = false
                continue
            }
            let cells = line.dropFirst().dropLast().components(separatedBy: "|")
                .map { $0.trimmingCharacters(in: .whitespaces) }
            if cells[0] == heading {
                isInside = true
            } else if isInside, !cells[0].hasPrefix("---") {
                rows.append(cells)
            }
        }
        return rows
    }

    /// The words in backquotes of a text.
    static func quoted(_ text: String) -> [String] {
        text.components(separatedBy: "`").enumerated().filter { $0.offset % 2 == 1 }.map(\.element)
    }

    // MARK: Programs

    struct Outcome {
        var exit: Int32
        var output: String
    }

    /// Runs one of the package's programs, built beside these tests, in the package's folder.
    static func run(_ program: String, _ arguments: [String]) throws -> Outcome {
        let tests = try FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/exe")
        let folder = URL(fileURLWithPath: tests).deletingLastPathComponent()
        return try run(executable: folder.appendingPathComponent(program), arguments)
    }

    static func run(executable: URL, _ arguments: [String]) throws -> Outcome {
        let process = Process()
        let pipe = Pipe()
        process.executableURL = executable
        process.arguments = arguments
        process.currentDirectoryURL = root
        process.standardInput = FileHandle.nullDevice
        process.standardOutput = pipe
        process.standardError = pipe
        try process.run()
        let data = pipe.fileHandleForReading.readDataToEndOfFile()
        process.waitUntilExit()
        return Outcome(exit: process.terminationStatus, output: String(decoding: data, as: UTF8.self))
    }
}
