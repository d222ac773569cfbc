// SPDX-License-Identifier: Apache-2.0
import Testing

@testable import HIDGateway

@Suite struct HeldContentTests {
    private static let limit = HeldContent.memoryLimit

    private func octets(_ count: Int) -> [UInt8] {
        (0..<count).map { UInt8(truncatingIfNeeded: $0 &* 31 &+ $0 >> 8) }
    }

    private func pieces(_ held: HeldContent) throws -> [[UInt8]] {
        var pieces: [[UInt8]] = []
        while let piece = try held.next() { pieces.append(piece) }
        return pieces
    }

    @Test(arguments: [limit - 1, limit, limit + 1, 1 << 20], [1, 1_000, limit - 1, limit, limit + 1, 1 << 20])
    func `what went in comes out, in pieces of 64 KiB at most`(count: Int, step: Int) throws {
        // Single octets into the file are a system call each.
        let step = count > Self.limit ? max(step, 16) : step
        let content = octets(count)
        let held = HeldContent()
        for start in stride(from: 0, to: count, by: step) {
            try held.append(content[start..<min(count, start + step)].span)
        }
        #expect(held.count == count)
        let pieces = try pieces(held)
        #expect(Array(pieces.joined()) == content)
        #expect(pieces.allSatisfy { !$0.isEmpty && $0.count <= Self.limit })
        #expect(try held.next() == nil)
    }

    @Test func `nothing held is nothing to forward`() throws {
        let held = HeldContent()
        #expect(try held.next() == nil)
        try held.append([UInt8]().span)
        #expect(held.count == 0)
        #expect(try held.next() == nil)
    }

    @Test func `the limit itself is one piece from memory`() throws {
        let held = HeldContent()
        try held.append(octets(Self.limit).span)
        #expect(try pieces(held).map(\.count) == [Self.limit])
    }

    @Test func `two requests do not see each other's content`() throws {
        let (first, second) = (HeldContent(), HeldContent())
        let (ones, twos) = ([UInt8](repeating: 1, count: 100_000), [UInt8](repeating: 2, count: 100_000))
        for start in stride(from: 0, to: 100_000, by: 10_000) {
            try first.append(ones[start..<(start + 10_000)].span)
            try second.append(twos[start..<(start + 10_000)].span)
        }
        #expect(try Array(pieces(first).joined()) == ones)
        #expect(try Array(pieces(second).joined()) == twos)
    }
}
