// SPDX-License-Identifier: Apache-2.0

/// The identifier of a value: class, form and number (X.690 section 8.1.2).
package struct DERTag: Sendable, Hashable {
    /// The two class bits.
    package enum Class: UInt8, Sendable {
        case universal = 0
        case application = 1
        case context = 2
        case `private` = 3
    }

    package var tagClass: Class
    package var isConstructed: Bool
    package var number: UInt32

    /// Makes a tag of any class.
    package init(_ tagClass: Class, _ number: UInt32, isConstructed: Bool) {
        self.tagClass = tagClass
        self.number = number
        self.isConstructed = isConstructed
    }

    /// A constructed context tag: EXPLICIT around one value, or an IMPLICIT SEQUENCE or SET.
    package static func context(_ number: UInt32) -> DERTag {
        DERTag(.context, number, isConstructed: true)
    }

    /// A primitive context tag: IMPLICIT in place of a primitive value.
    package static func implicit(_ number: UInt32) -> DERTag {
        DERTag(.context, number, isConstructed: false)
    }

    package static let boolean = universal(1)
    package static let integer = universal(2)
    package static let bitString = universal(3)
    package static let octetString = universal(4)
    package static let null = universal(5)
    package static let oid = universal(6)
    package static let enumerated = universal(10)
    package static let utf8String = universal(12)
    package static let printableString = universal(19)
    package static let teletexString = universal(20)
    package static let ia5String = universal(22)
    package static let utcTime = universal(23)
    package static let generalizedTime = universal(24)
    package static let sequence = DERTag(.universal, 16, isConstructed: true)
    package static let set = DERTag(.universal, 17, isConstructed: true)

    private static func universal(_ number: UInt32) -> DERTag {
        DERTag(.universal, number, isConstructed: false)
    }
}
