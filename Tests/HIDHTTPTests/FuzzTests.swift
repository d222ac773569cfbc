// SPDX-License-Identifier: Apache-2.0
import HIDHTTP
import Testing

/// A small generator with a fixed seed, so that a failure can be repeated.
struct XorShift: RandomNumberGenerator {
    var state: UInt64

    mutating func next() -> UInt64 {
        state ^= state << 13
        state ^= state >> 7
        state ^= state << 17
        return state
    }

    mutating func below(_ bound: Int) -> Int { Int(next() % UInt64(max(bound, 1))) }
}

@Suite struct FuzzTests {
    static let seeds = VectorFiles.connections.map(\.raw).filter { $0.count < 400 } + VectorFiles.framing.map(\.raw)
    static let splices: [[UInt8]] = [
        "\r\n", "\n", "\r", "\0", " ", "\t", ":", ";", ",", "\"", "_", "chunked", "Transfer-Encoding: chunked\r\n",
        "Content-Length: 5\r\n", "Connection: close\r\n", "Host: x\r\n", "ffffffffffffffff", "7fffffffffffffff",
        "0\r\n\r\n",
        "HTTP/1.0", "HTTP/1.1", "[::1]", "99999999999999999999", "Expect: 100-continue\r\n",
    ].map { Array($0.utf8) }

    static func mutate(_ seed: [UInt8], _ random: inout XorShift) -> [UInt8] {
        var octets = seed
        for _ in 0...random.below(3) {
            let position = random.below(octets.count + 1)
            switch random.below(5) {
            case 0 where position < octets.count: octets[position] = UInt8(truncatingIfNeeded: random.next())
            case 1 where position < octets.count: octets.remove(at: position)
            case 2: octets.insert(contentsOf: splices[random.below(splices.count)], at: position)
            case 3 where position < octets.count: octets[position] ^= 1 << UInt8(random.below(8))
            default:
                let end = min(octets.count, position + random.below(40))
                octets.insert(contentsOf: Array(octets[position..<end]), at: random.below(octets.count + 1))
            }
        }
        return octets
    }

    /// What must hold for every accepted head, found by other means than the parser's.
    static func isSound(_ head: RequestHead) -> Bool {
        let lengths = head.count(of: FieldName("Content-Length"))
        let codings = head.count(of: FieldName("Transfer-Encoding"))
        if lengths + codings > 1 { return false }
        if (head.framing == .chunked) != (codings == 1) { return false }
        if head.minorVersion == 0, codings > 0 { return false }
        if head.minorVersion == 1, head.count(of: FieldName("Host")) != 1 { return false }
        for (index, byte) in head.bytes.enumerated() {
            if byte == 0x0A, index == 0 || head.bytes[index - 1] != 0x0D { return false }
            if byte == 0x0D, index + 1 >= head.bytes.count || head.bytes[index + 1] != 0x0A { return false }
            if byte < 0x20, byte != 0x0D, byte != 0x0A, byte != 0x09 { return false }
            if byte == 0x7F { return false }
        }
        for line in head.fields {
            if line.name.isEmpty || head.bytes[line.name.upperBound] != 0x3A { return false }
            if head.bytes[line.value].contains(0x0D) || head.bytes[line.name].contains(0x20) { return false }
        }
        return head.bytes.suffix(4) == [0x0D, 0x0A, 0x0D, 0x0A]
    }

    @Test(arguments: 1...10)
    func `mutated requests never trap and never pass with two framings`(round: UInt64) {
        var random = XorShift(state: 0x9E37_79B9_7F4A_7C15 &* round)
        for _ in 0..<10_000 {
            let octets = Self.mutate(Self.seeds[random.below(Self.seeds.count)], &random)
            let whole = ReplayConnection.play(octets, cuts: [])
            let sound = whole.messages.allSatisfy { Self.isSound($0.head) }
            #expect(sound, "\(octets)")
            let cut = ReplayConnection.play(octets, cuts: [random.below(octets.count + 1)])
            if cut != whole { Issue.record("depends on the cut: \(octets)") }
        }
    }

    @Test(arguments: 1...4)
    func `mutated responses never trap and never pass with two framings`(round: UInt64) {
        let seeds = ResponseParserTests.seeds
        var random = XorShift(state: 0xD1B5_4A32_D192_ED03 &* round)
        for _ in 0..<5_000 {
            let octets = Self.mutate(seeds[random.below(seeds.count)], &random)
            var head = ResponseHead()
            var parser = ResponseParser()
            let whole = parser.parse(octets.span, into: &head, requestMethodIsHead: false)
            var other = ResponseHead()
            var dripped = ResponseParser()
            var progress = HeadProgress<ResponseFault>.needMore
            for end in 0...octets.count where progress == .needMore {
                progress = dripped.parse(octets.span.extracting(first: end), into: &other, requestMethodIsHead: false)
            }
            #expect(progress == whole, "\(octets)")
            guard case .complete = whole else { continue }
            #expect(head == other)
            let framings = head.count(of: FieldName("Content-Length")) + head.count(of: FieldName("Transfer-Encoding"))
            #expect(framings <= 1, "\(octets)")
        }
    }
}
