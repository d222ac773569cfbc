// SPDX-License-Identifier: Apache-2.0

/// What a head parser made of the bytes it has seen so far.
package enum HeadProgress<Fault: Sendable & Equatable>: Sendable, Equatable {
    /// Nothing is wrong yet and the head is not over.
    case needMore
    /// The head is over; that many octets belong to it and the next one is content or the next message.
    case complete(consumed: Int)
    /// No continuation can make this a message we accept. Answer and close.
    case bad(Fault)
}

/// Faults in a field section, shared by requests, responses and trailers.
enum FieldFault: Sendable, Equatable {
    case bareLF
    case bareCR
    case foldedLine
    case nameBad
    case lineBad
    case valueControl
    case contentLengthBad
    case contentLengthConflict
    case contentLengthMultiple
    case bothFramings
    case transferEncodingBad
    case transferEncodingUnsupported
    case transferEncodingMultiple
    case transferEncodingHTTP10
    case connectionBad
    case connectionProtected
}
