// SPDX-License-Identifier: Apache-2.0
import Foundation
import Testing

/// The house: who may import whom. The compiler does not hold it, because a target sees what its dependencies see.
@Suite struct LayeringTests {
    /// Own modules that a target may import; a target that is not here is a fault.
    static let mayImport: [String: Set<String>] = [
        // Layer 1: foundations.
        "HIDCrypto": ["COpenSSL"],
        "HIDService": ["CYAML"],
        // Layer 2: capabilities. They do not know each other, nor HIDService.
        "HIDVerifier": ["HIDCrypto"],
        "HIDHTTP": ["HIDCrypto", "CCurl", "CAres", "CNghttp2", "CLinux"],
        "HIDStore": ["CSQLite"],
        // What both daemons are.
        "HIDDaemon": ["HIDCrypto", "HIDHTTP", "HIDService"],
        // Layer 3: the gateway, the Human Identification Server, the SDK.
        "HIDGateway": ["HIDCrypto", "HIDVerifier", "HIDHTTP", "HIDStore", "HIDService", "HIDDaemon"],
        "HIDIssuer": ["HIDCrypto", "HIDVerifier", "HIDHTTP", "HIDStore", "HIDService", "HIDDaemon"],
        "HIDClient": ["HIDCrypto", "HIDHTTP"],
        // Layer 4: programs.
        "hidgated": ["HIDGateway", "HIDDaemon"],
        "hisd": ["HIDIssuer", "HIDDaemon"],
        "hidctl": [
            "HIDGateway", "HIDIssuer", "HIDClient", "HIDDaemon", "HIDVerifier", "HIDHTTP", "HIDCrypto", "HIDService",
        ],
        "hidbench": ["HIDGateway", "HIDIssuer", "HIDHTTP", "HIDCrypto", "HIDService"],
    ]
    static let system: Set<String> = ["Glibc", "Dispatch", "Synchronization", "Foundation", "FoundationEssentials"]
    /// What the SDK imports on Apple platforms, where it has neither OpenSSL nor libcurl.
    static let apple: Set<String> = ["Darwin", "CryptoKit", "DeviceCheck", "Security"]
    /// Targets on the data path, and what a backend embeds.
    static let withoutFoundation = ["HIDCrypto", "HIDVerifier", "HIDHTTP", "HIDStore", "HIDService"]

    let files: [SourceTree.SourceFile]

    init() throws {
        files = try SourceTree.swiftFiles(below: "Sources")
    }

    @Test func `every import is one that its target is allowed`() {
        #expect(files.count > 100)
        for file in files {
            guard let allowed = Self.mayImport[file.target] else {
                Issue.record("\(file): target \(file.target) has no place in the table of layers")
                continue
            }
            for module in file.imports where !Self.system.contains(module) {
                let isApple = file.target == "HIDClient" && Self.apple.contains(module)
                #expect(allowed.contains(module) || isApple, "\(file) imports \(module)")
            }
        }
    }

    @Test func `on Apple platforms the SDK imports none of our targets, and elsewhere no Foundation`() {
        for file in files where file.target == "HIDClient" {
            var isApple: [Bool?] = []
            for line in file.lines.map({ $0.trimmingCharacters(in: .whitespaces) }) {
                switch line {
                case "#if canImport(CryptoKit)", "#if canImport(DeviceCheck)", "#if canImport(Darwin)":
                    isApple.append(true)
                case "#if !canImport(CryptoKit)": isApple.append(false)
                case "#else": isApple.append(isApple.popLast()?.map { !$0 })
                case "#endif": _ = isApple.popLast()
                default: if line.hasPrefix("#if") { isApple.append(nil) }
                }
                guard line.hasPrefix("internal import ") else { continue }
                let module = String(line.dropFirst("internal import ".count))
                let isOurs = module.hasPrefix("HID") || module == "Glibc"
                let isTheirs = Self.apple.contains(module) || module.hasPrefix("Foundation")
                if isOurs { #expect(isApple.last == false, "\(file): \(module)") }
                if isTheirs { #expect(isApple.last == true, "\(file): \(module)") }
            }
        }
    }

    @Test func `every C library has exactly one importer`() throws {
        let folders = try FileManager.default.contentsOfDirectory(
            atPath: SourceTree.root.appendingPathComponent("Sources").path)
        let libraries = folders.filter { $0.first == "C" }
        #expect(libraries.count >= 4)
        for library in libraries {
            let importers = Set(files.filter { $0.imports.contains(library) }.map(\.target))
            #expect(importers.count == 1, "\(library) is imported by \(importers.sorted())")
        }
    }

    @Test func `C libraries hold module maps and shims only`() throws {
        let base = SourceTree.root.appendingPathComponent("Sources")
        for name in try FileManager.default.subpathsOfDirectory(atPath: base.path) where name.first == "C" {
            let isKnown = ["module.modulemap", "shim.h"].contains { name.hasSuffix("/" + $0) } || !name.contains("/")
            #expect(isKnown, "Sources/\(name)")
        }
    }

    @Test(arguments: withoutFoundation)
    func `no Foundation on the data path or in what a backend embeds`(_ target: String) {
        for file in files where file.target == target {
            let found = file.imports.filter { $0.hasPrefix("Foundation") }
            #expect(found.isEmpty, "\(file) imports \(found)")
        }
    }

    @Test func `the manifest depends on no package and declares the table's targets`() throws {
        let text = try String(
            contentsOf: SourceTree.root.appendingPathComponent("Package.swift"), encoding: .utf8)
        #expect(!text.contains(".package("))
        let compact = text.filter { !$0.isWhitespace }
        for target in Self.mayImport.keys { #expect(compact.contains("(\"\(target)\""), "\(target)") }
    }
}
