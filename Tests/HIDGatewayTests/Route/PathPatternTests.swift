// SPDX-License-Identifier: Apache-2.0

import Foundation
import HIDGateway
import Testing

@Suite struct PathPatternTests {
    @Test(arguments: [
        ("", PathPattern.Fault.notAbsolute), ("admin", .notAbsolute), ("*", .notAbsolute),
        ("/a/../b", .notCanonical(canonical: "/b")), ("/a//b", .notCanonical(canonical: "/a/b")),
        ("/%61", .notCanonical(canonical: "/a")), ("/%c3%a9", .notCanonical(canonical: "/%C3%A9")),
        ("/\u{E9}", .notCanonical(canonical: "/%C3%A9")), ("/a b", .notCanonical(canonical: "/a%20b")),
        ("/a?x", .refused(.badCharacter)), ("/a#x", .refused(.badCharacter)), ("/a;b", .refused(.semicolon)),
        ("/a%2Fb", .refused(.encodedSlash)), ("/../a", .refused(.aboveRoot)), ("/a\n", .refused(.control)),
        ("/**/a", .restNotLast), ("/a/**/", .restNotLast), ("/a*", .partialWildcard), ("/a/***", .partialWildcard),
        ("/" + String(repeating: "a", count: 9_000), .tooLong),
    ])
    func `a text that is no pattern is refused with its reason`(text: String, fault: PathPattern.Fault) {
        #expect(throws: fault) { try PathPattern(parsing: text) }
        #expect(!fault.description.isEmpty)
    }

    @Test(arguments: [
        ("/a", ["/a"], ["/", "/a/", "/ab", "/A", "/a/b"]), ("/", ["/"], ["/a"]), ("/a/", ["/a/"], ["/a", "/a/b"]),
        ("/a/**", ["/a", "/a/", "/a/b", "/a/b/c"], ["/", "/ab", "/b/a"]), ("/**", ["/", "/a", "/a/b"], []),
        ("/*", ["/a"], ["/", "/a/", "/a/b"]), ("/a/*/c", ["/a/b/c"], ["/a/c", "/a/b/c/", "/a//c", "/a/b/d"]),
        ("/*/b/**", ["/a/b", "/a/b/c"], ["/a", "/b/b2", "/a/bb"]), ("/*/", ["/a/"], ["/a", "/"]),
    ])
    func `a pattern matches whole segments`(text: String, hits: [String], misses: [String]) throws {
        let pattern = try PathPattern(parsing: text)
        let table = RouteTable(rules: [try rule(text)])
        for path in hits + misses {
            #expect(pattern.matches(Array(path.utf8).span) == hits.contains(path))
            if !path.contains("//") { #expect((match(path, in: table)?.kind == .canonical) == hits.contains(path)) }
        }
    }

    @Test func `patterns are ordered from wide to narrow`() throws {
        let ordered = ["/**", "/*", "/a/**", "/*/*", "/*/a", "/a/*", "/a/b/**", "/*/*/c/d", "/a/*/c/d", "/a"]
        let specificities = try ordered.map { try PathPattern(parsing: $0).specificity }
        for (left, right) in zip(specificities, specificities.dropFirst()) { #expect(left < right) }
        #expect(try PathPattern(parsing: "/a").isExact)
        #expect(try !PathPattern(parsing: "/a/*").isExact)
    }

    @Test func `every fault has a code of its own and a sentence`() {
        #expect(Set(PathFault.allCases.map(\.code)).count == PathFault.allCases.count)
        for fault in PathFault.allCases { #expect(fault.explanation.count > 10 && [400, 414].contains(fault.status)) }
    }

    @Test func `every character whose compatibility form is ASCII folds to it`() {
        var fold = PathFold()
        var misses: [String] = []
        var count = 0
        for value in UInt32(0x80)...0x1FFFF {
            guard let scalar = Unicode.Scalar(value) else { continue }
            let form = String(Character(scalar)).precomposedStringWithCompatibilityMapping.lowercased()
            let length = String(Character(scalar)).utf8.count
            guard form.utf8.allSatisfy({ $0 >= 0x20 && $0 < 0x7F }), form.utf8.count <= length else { continue }
            count += 1
            fold.fold(Array("/x\(Character(scalar))x".utf8).span, reading: [.lookalikes, .bestFit])
            var expected = PathFold()
            expected.fold(Array("/x\(form)x".utf8).span, reading: [.lookalikes, .bestFit])
            if fold.key != expected.key { misses.append(String(value, radix: 16) + form) }
        }
        #expect(misses.joined(separator: " ") == "")
        #expect(count > 1_300)
    }
}
