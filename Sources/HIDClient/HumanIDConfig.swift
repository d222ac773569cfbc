// SPDX-License-Identifier: Apache-2.0

/// Why a configuration is not accepted.
public enum HumanIDConfigError: Error, Sendable, Equatable, CustomStringConvertible {
    /// The application id is empty or white space alone.
    case blankApplicationID
    /// The application id is not 1 to 64 of `A-Z a-z 0-9 . _ -`.
    case malformedApplicationID
    /// The device id is not 1 to 128 of `A-Z a-z 0-9 . _ -`.
    case malformedDeviceID
    /// The server URL is no http or https URL; the text says what is wrong with it.
    case malformedServerURL(String)
    /// The server URL is http:// to a host that is not a loopback address.
    case insecureServerURL

    /// What is wrong and what to do, in lower case and without a full stop.
    public var description: String {
        switch self {
        case .blankApplicationID: "the application id is blank; use the app_id of the server's configuration"
        case .malformedApplicationID: "the application id is not 1 to 64 of A-Z a-z 0-9 . _ -"
        case .malformedDeviceID: "the device id is not 1 to 128 of A-Z a-z 0-9 . _ -"
        case .malformedServerURL(let fault): "the server URL \(fault)"
        case .insecureServerURL: "the server URL must start with https:// unless its host is a loopback address"
        }
    }
}

/// Which server the SDK talks to, for which application, and how patient it is.
///
/// Every duration is held to 0 ... 1 day when it is used.
public struct HumanIDConfig: Sendable {
    /// The base URL of the Human Identification Server, without a slash at the end.
    public let serverURL: String
    /// The `app_id` under which the server knows this application.
    public let applicationID: String
    /// The installation's own id; nil: the key holder makes one and keeps it.
    public let deviceID: String?
    /// How long one request to the server may take; 10 s.
    public var requestTimeout = Duration.seconds(10)
    /// How long getting a token may take with all its requests and key operations; 30 s.
    public var timeout = Duration.seconds(30)
    /// The life a kept token must have left to be handed out again; 10 s.
    public var minimumTokenLife = Duration.seconds(10)
    /// How long calls fail fast after a first failure; doubled by each further one, and jittered; 500 ms.
    public var initialBackoff = Duration.milliseconds(500)
    /// The longest time that doubling leads to; 60 s.
    public var maximumBackoff = Duration.seconds(60)
    /// The longest `Retry-After` that is honoured; a longer one counts as this; 5 min.
    public var maximumRetryAfter = Duration.seconds(300)
    /// The path of a PEM file of the only roots to trust; nil: the system's.
    public var certificateAuthorities: String?

    /// Makes a configuration.
    ///
    /// - Parameters:
    ///   - serverURL: `https://host[:port][/path]`, without user name, query and fragment. `http://` is accepted for
    ///     `localhost`, 127.0.0.0/8 and `[::1]` only.
    ///   - applicationID: 1 to 64 of `A-Z a-z 0-9 . _ -`.
    ///   - deviceID: 1 to 128 of the same set; nil: made once and kept by the key holder.
    /// - Throws: The first fault found, in the order of `HumanIDConfigError`.
    public init(
        serverURL: String, applicationID: String, deviceID: String? = nil
    ) throws(HumanIDConfigError) {
        guard applicationID.contains(where: { !$0.isWhitespace }) else { throw .blankApplicationID }
        guard Identifier.isValid(applicationID, atMost: 64) else { throw .malformedApplicationID }
        if let deviceID, !Identifier.isValid(deviceID, atMost: 128) { throw .malformedDeviceID }
        let url = try ServerURL(parsing: serverURL)
        guard url.isTLS || url.isLoopback else { throw .insecureServerURL }
        self.serverURL = url.base
        self.applicationID = applicationID
        self.deviceID = deviceID
    }
}

/// The names of applications and devices.
enum Identifier {
    /// Whether a text is 1 to `limit` of `A-Z a-z 0-9 . _ -`.
    static func isValid(_ text: String, atMost limit: Int) -> Bool {
        let bytes = text.utf8
        return (1...limit).contains(bytes.count) && bytes.allSatisfy { ASCIIText.isAlphanumeric($0) || isMark($0) }
    }

    private static func isMark(_ byte: UInt8) -> Bool {
        byte == UInt8(ascii: ".") || byte == UInt8(ascii: "_") || byte == UInt8(ascii: "-")
    }
}

/// Classes of ASCII octets.
enum ASCIIText {
    /// Whether an octet is a letter or digit.
    static func isAlphanumeric(_ byte: UInt8) -> Bool {
        isDigit(byte) || (byte | 0x20) &- UInt8(ascii: "a") < 26
    }

    /// Whether an octet is a digit.
    static func isDigit(_ byte: UInt8) -> Bool {
        byte &- UInt8(ascii: "0") < 10
    }

    /// An octet with `A-Z` folded to `a-z`.
    static func lower(_ byte: UInt8) -> UInt8 {
        byte &- UInt8(ascii: "A") < 26 ? byte | 0x20 : byte
    }

    /// Whether an octet is visible: no space, no control, nothing over 0x7E.
    static func isVisible(_ byte: UInt8) -> Bool {
        (0x21...0x7E).contains(byte)
    }

    /// Whether all octets are of base64url without padding.
    static func isBase64URL(_ bytes: some Sequence<UInt8>) -> Bool {
        bytes.allSatisfy { isAlphanumeric($0) || $0 == UInt8(ascii: "-") || $0 == UInt8(ascii: "_") }
    }
}
