// SPDX-License-Identifier: Apache-2.0

package import HIDHTTP

/// Makes request ids and support codes.
///
/// Confined to one loop.
package struct RequestIdentity {
    private static let digits = Array("0123456789abcdef".utf8)
    /// Crockford's base 32: no letter that is read as a digit.
    private static let letters = Array("0123456789ABCDEFGHJKMNPQRSTVWXYZ".utf8)

    private var generator = SystemRandomNumberGenerator()
    private let prefix: UInt64
    private var counter: UInt64

    package init() {
        prefix = generator.next()
        counter = generator.next()
    }

    /// 32 hexadecimal digits: a random number of this loop and a scrambled count, so that no two are equal.
    package mutating func nextRequestID() -> [UInt8] {
        counter &+= 1
        var id = [UInt8]()
        id.reserveCapacity(32)
        for word in [prefix, Self.scramble(counter)] {
            for shift in stride(from: 60, through: 0, by: -4) {
                id.append(Self.digits[Int(word >> UInt64(shift) & 15)])
            }
        }
        return id
    }

    /// A bijection of 64 bits (the finalizer of splitmix64): equal ids would need equal counts.
    private static func scramble(_ value: UInt64) -> UInt64 {
        var mixed = value
        mixed = (mixed ^ mixed >> 30) &* 0xbf58_476d_1ce4_e5b9
        mixed = (mixed ^ mixed >> 27) &* 0x94d0_49bb_1331_11eb
        return mixed ^ mixed >> 31
    }

    /// Ten letters in two groups, random: short enough for a phone call, and telling nothing.
    package mutating func nextSupportCode() -> [UInt8] {
        let random = generator.next() as UInt64
        var code = [UInt8]()
        for index in 0..<10 {
            if index == 5 { code.append(0x2D) }
            code.append(Self.letters[Int(random >> UInt64(5 * index) & 31)])
        }
        return code
    }

    private static let requestID = FieldName("x-request-id")

    /// The id a trusted proxy gave, if it is one that can go into a log.
    package static func trusted(_ request: RequestHead) -> [UInt8]? {
        guard let line = request.first(requestID), (1...128).contains(line.value.count) else { return nil }
        let value = request.bytes[line.value]
        let isSafe = value.allSatisfy { byte in
            byte &- 0x30 < 10 || HIDHTTP.ASCII.lower(byte) &- 0x61 < 26 || byte == 0x2D || byte == 0x2E || byte == 0x5F
        }
        return isSafe ? Array(value) : nil
    }
}
