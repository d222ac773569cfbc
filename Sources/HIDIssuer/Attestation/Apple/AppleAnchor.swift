// SPDX-License-Identifier: Apache-2.0
internal import HIDCrypto

/// The public keys of Apple's that chains must end at; names, dates and copies of root certificates do not count.
///
/// Source: https://www.apple.com/certificateauthority/private/ and https://www.apple.com/certificateauthority/.
struct AppleAnchor: Sendable {
    /// For people.
    var name: String
    /// SubjectPublicKeyInfo, DER.
    var subjectPublicKeyInfo: [UInt8]

    /// Apple App Attestation Root CA, P-384, 2020 to 2045: attestation objects.
    static let appAttest = AppleAnchor(
        name: "Apple App Attestation Root CA",
        base64: "MHYwEAYHKoZIzj0CAQYFK4EEACIDYgAERTHhmLW07ATaFQIEVwTtT4dyctdhNbJh"
            + "Fs/Ii2FdCgAHGbpphY3+d8qjuDngIN3WVhQUBHAoMeQ/cLiP1sOUtgjqK9auYen1"
            + "mMEvRq9Sk3Jm5X8U62H+xTD3FE9TgS41")

    /// Apple Root CA - G3, P-384, 2014 to 2039: receipts.
    static let rootG3 = AppleAnchor(
        name: "Apple Root CA - G3",
        base64: "MHYwEAYHKoZIzj0CAQYFK4EEACIDYgAEmOkvPUBypO2TInKBExzdEJXxxaNOcdwU"
            + "FtkO5aYFKndke19OONO7HES1f/UftjJiXcnphFtPME8RWgD9WFgMpfUPLE0HRxN1"
            + "2peXl28xXO0rnXsgO9i5VNlemaQ6UQox")

    /// The anchor of a root certificate that the operator trusts.
    init(_ root: Certificate) {
        name = "an extra root"
        subjectPublicKeyInfo = root.subjectPublicKeyInfo
    }

    private init(name: String, base64: String) {
        let text = Array(base64.utf8)
        self.name = name
        // An empty key, were the text ever damaged, anchors nothing.
        subjectPublicKeyInfo = Base64.decode(text.span) ?? []
    }
}
