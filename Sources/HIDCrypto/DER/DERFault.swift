// SPDX-License-Identifier: Apache-2.0

/// Why octets are no DER that we accept (X.690 section 10).
package enum DERFault: String, Error, Sendable, CaseIterable {
    /// The octets end inside a header or before the end of a content, or a content reaches out of its parent.
    case truncated
    /// A tag number written longer than needed, or over 28 bits.
    case tagNumber = "tag_number"
    /// An indefinite or reserved length.
    case indefiniteLength = "indefinite_length"
    /// A length written longer than needed, or over 32 bits.
    case lengthForm = "length_form"
    /// Another tag than the one that must stand here.
    case unexpectedTag = "unexpected_tag"
    /// Something stands behind the last value.
    case trailingOctets = "trailing_octets"
    /// Values nested deeper than the limit of the reader.
    case tooDeep = "too_deep"
    /// The content of a primitive value has not the form of its type.
    case value
    /// A number outside the range of its field.
    case range
}
