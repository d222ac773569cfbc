// SPDX-License-Identifier: Apache-2.0

/// Carries the octets of a command line through Strings without loss.
///
/// An argument that is UTF-8 stays as it is. In any other one each octet over 0x7F becomes a scalar of the last private
/// plane, as does one that holds such a scalar itself, so that the way back has no second reading.
enum RawArgument {
    private static let base: UInt32 = 0x10_FF00

    /// The String for a parser of arguments.
    static func string(_ octets: [UInt8]) -> String {
        if let text = String(validating: octets, as: UTF8.self), !text.unicodeScalars.contains(where: isCarrier) {
            return text
        }
        var scalars = String.UnicodeScalarView()
        for octet in octets {
            let value = octet < 0x80 ? UInt32(octet) : base + UInt32(octet)
            if let scalar = Unicode.Scalar(value) { scalars.append(scalar) }
        }
        return String(scalars)
    }

    /// The octets that a String of ``string(_:)`` stands for.
    static func octets(_ text: String) -> [UInt8] {
        var octets: [UInt8] = []
        for scalar in text.unicodeScalars {
            if isCarrier(scalar) {
                octets.append(UInt8(truncatingIfNeeded: scalar.value))
            } else {
                octets += Array(String(scalar).utf8)
            }
        }
        return octets
    }

    private static func isCarrier(_ scalar: Unicode.Scalar) -> Bool {
        scalar.value >= base + 0x80
    }
}
