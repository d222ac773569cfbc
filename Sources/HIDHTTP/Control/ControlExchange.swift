// SPDX-License-Identifier: Apache-2.0

internal import CCurl
internal import HIDCrypto

/// One request of a tool or of the control plane: everything as it is to stand on the wire.
package struct ControlRequest: Sendable {
    package var method: [UInt8]
    /// Where to connect; its path is sent only without `target`.
    package var url: String
    /// The request-target, octet for octet; nil: that of the URL.
    package var target: [UInt8]?
    /// Lines of the form `Name: value` without line breaks; Host, too, when it is not that of the URL.
    package var fields: [[UInt8]] = []
    package var body: [UInt8] = []
    /// Most octets of the answer's content.
    package var answerLimit = 1 << 20
    package var timeout = Duration.seconds(30)
    /// PEM file of trusted roots; nil: the system's.
    package var certificateAuthorities: String?

    package init(method: [UInt8], url: String) {
        self.method = method
        self.url = url
    }
}

/// What came back.
package struct ControlAnswer: Sendable, Equatable {
    package var status: Int
    /// The value of X-Request-Id.
    package var requestID: [UInt8]?
    /// The value of Cache-Control.
    package var cacheControl: [UInt8]?
    /// The value of ETag; nil also when it could not be sent back.
    package var etag: String?
    /// Seconds of Age (RFC 9111 section 5.1).
    package var age: Int?
    /// The value of Retry-After.
    package var retryAfter: [UInt8]?
    package var body: [UInt8]

    /// Seconds of `max-age` (RFC 9111 section 5.2.2.1); nil without a readable one.
    package var maxAge: Int? {
        let name = Array("max-age=".utf8)
        for directive in (cacheControl ?? []).split(separator: 0x2C) {
            let text = directive.drop { $0 == 0x20 || $0 == 0x09 }
            guard text.count > name.count, text.prefix(name.count).map(ASCII.lower) == name else { continue }
            let digits = text.dropFirst(name.count).prefix { $0 &- 0x30 < 10 }
            guard (1...9).contains(digits.count) else { return digits.isEmpty ? nil : 1_000_000_000 }
            return digits.reduce(0) { $0 * 10 + Int($1 - 0x30) }
        }
        return nil
    }
}

/// Why there was no answer, in libcurl's words.
package struct ControlExchangeFault: Error, Sendable, Equatable, CustomStringConvertible {
    /// What a caller may want to tell apart.
    package enum Kind: Sendable, Equatable {
        case timeout
        case tooLarge
        case other
    }

    package var kind = Kind.other
    package let description: String
}

/// An ordinary libcurl transfer for tools, key sets and lists: blocking, so never on a loop; HTTP/1.1, no redirects, no proxy from the environment.
package enum ControlExchange {
    /// Sends a request and waits for its answer.
    package static func send(_ request: ControlRequest) -> Result<ControlAnswer, ControlExchangeFault> {
        guard let easy = unsafe curl_easy_init() else { return .failure(.init(description: "out of memory")) }
        defer { unsafe curl_easy_cleanup(easy) }
        let body = AnswerBody(limit: request.answerLimit)
        var lines: UnsafeMutablePointer<curl_slist>?
        defer { unsafe curl_slist_free_all(lines) }
        for field in request.fields + [Array("Expect:".utf8)] {
            guard let longer = unsafe withText(field, { unsafe curl_slist_append(lines, $0) }) else {
                return .failure(.init(description: "out of memory"))
            }
            unsafe lines = longer
        }
        let isSet =
            unsafe setTransfer(request, easy) && setContent(request, easy) && setBody(body, easy)
            && hid_curl_set_pointer(easy, CURLOPT_HTTPHEADER, lines) == CURLE_OK
        guard isSet else { return .failure(.init(description: "libcurl refused a setting for \(request.url)")) }
        let code = unsafe curl_easy_perform(easy)
        return withExtendedLifetime(body) {
            guard !body.isOverLimit else {
                return .failure(
                    .init(kind: .tooLarge, description: "the answer is over \(request.answerLimit) octets"))
            }
            guard code == CURLE_OK else {
                let kind = code == CURLE_OPERATION_TIMEDOUT ? ControlExchangeFault.Kind.timeout : .other
                return .failure(.init(kind: kind, description: unsafe String(cString: curl_easy_strerror(code))))
            }
            var status = 0
            _ = unsafe hid_curl_get_long(easy, CURLINFO_RESPONSE_CODE, &status)
            return unsafe .success(
                ControlAnswer(
                    status: status, requestID: field("X-Request-Id", easy),
                    cacheControl: field("Cache-Control", easy), etag: field("ETag", easy).flatMap(entityTag),
                    age: field("Age", easy).flatMap(seconds), retryAfter: field("Retry-After", easy),
                    body: body.bytes))
        }
    }

    /// What may stand in If-None-Match: printable octets only.
    private static func entityTag(_ value: [UInt8]) -> String? {
        guard (1...256).contains(value.count), value.allSatisfy({ (0x21...0x7E).contains($0) }) else { return nil }
        return String(decoding: value, as: UTF8.self)
    }

    private static func seconds(_ value: [UInt8]) -> Int? {
        StrictInteger.parse(value.span, maximum: 1 << 31).map { Int($0) }
    }

    private static func setTransfer(_ request: ControlRequest, _ easy: UnsafeMutableRawPointer) -> Bool {
        let (seconds, fraction) = request.timeout.components
        let milliseconds = Int(clamping: seconds * 1000 + fraction / 1_000_000_000_000_000)
        var settings: [CURLcode] = unsafe [
            hid_curl_set_string(easy, CURLOPT_URL, request.url),
            hid_curl_set_string(easy, CURLOPT_PROTOCOLS_STR, "http,https"),
            hid_curl_set_string(easy, CURLOPT_PROXY, ""),
            hid_curl_set_string(easy, CURLOPT_NOPROXY, "*"),
            hid_curl_set_string(easy, CURLOPT_USERAGENT, "hidgate"),
            hid_curl_set_long(easy, CURLOPT_NOSIGNAL, 1),
            hid_curl_set_long(easy, CURLOPT_FOLLOWLOCATION, 0),
            hid_curl_set_long(easy, CURLOPT_PATH_AS_IS, 1),
            hid_curl_set_long(easy, CURLOPT_HTTP_VERSION, 2),  // CURL_HTTP_VERSION_1_1, a macro with a cast
            hid_curl_set_long(easy, CURLOPT_TIMEOUT_MS, milliseconds),
            hid_curl_set_long(easy, CURLOPT_CONNECTTIMEOUT_MS, min(milliseconds, 5_000)),
        ]
        if let target = request.target {
            settings.append(unsafe withText(target) { unsafe hid_curl_set_string(easy, CURLOPT_REQUEST_TARGET, $0) })
        }
        if let roots = request.certificateAuthorities {
            settings.append(unsafe hid_curl_set_string(easy, CURLOPT_CAINFO, roots))
        }
        return settings.allSatisfy { $0 == CURLE_OK }
    }

    /// Content goes out with a length, also an empty one of a method that expects some (RFC 9110 section 8.6).
    private static func setContent(_ request: ControlRequest, _ easy: UnsafeMutableRawPointer) -> Bool {
        let isHead = request.method == Array("HEAD".utf8)
        let expectsContent = ["POST", "PUT", "PATCH"].contains { request.method == Array($0.utf8) }
        if isHead && request.body.isEmpty {
            guard unsafe hid_curl_set_long(easy, CURLOPT_NOBODY, 1) == CURLE_OK else { return false }
        } else if expectsContent || !request.body.isEmpty {
            let isSet = unsafe hid_curl_set_long(easy, CURLOPT_POSTFIELDSIZE, request.body.count) == CURLE_OK
            // Copied by libcurl, with the length from above.
            let isCopied = unsafe withText(request.body) {
                unsafe hid_curl_set_string(easy, CURLOPT_COPYPOSTFIELDS, $0) == CURLE_OK
            }
            guard isSet, isCopied else { return false }
        }
        return unsafe withText(request.method) {
            unsafe hid_curl_set_string(easy, CURLOPT_CUSTOMREQUEST, $0) == CURLE_OK
        }
    }

    private static func setBody(_ body: AnswerBody, _ easy: UnsafeMutableRawPointer) -> Bool {
        let function = unsafe hid_curl_set_write(easy, CURLOPT_WRITEFUNCTION) { bytes, size, count, context in
            guard let bytes = unsafe bytes, let context = unsafe context else { return 0 }
            let body = unsafe Unmanaged<AnswerBody>.fromOpaque(context).takeUnretainedValue()
            let octets = unsafe UnsafeRawBufferPointer(start: bytes, count: size * count)
            return unsafe body.append(octets) ? octets.count : 0
        }
        let context = unsafe Unmanaged.passUnretained(body).toOpaque()
        return unsafe function == CURLE_OK && hid_curl_set_pointer(easy, CURLOPT_WRITEDATA, context) == CURLE_OK
    }

    private static func field(_ name: String, _ easy: UnsafeMutableRawPointer) -> [UInt8]? {
        var header: UnsafeMutablePointer<curl_header>?
        guard unsafe curl_easy_header(easy, name, 0, UInt32(CURLH_HEADER), -1, &header) == CURLHE_OK,
            let value = unsafe header?.pointee.value
        else { return nil }
        return unsafe Array(String(cString: value).utf8)
    }

    /// Octets as a C string.
    private static func withText<Value>(_ octets: [UInt8], _ body: (UnsafePointer<CChar>?) -> Value) -> Value {
        let text = octets.map { CChar(bitPattern: $0) } + [0]
        return unsafe text.withUnsafeBufferPointer { unsafe body($0.baseAddress) }
    }
}

/// Gathers an answer up to a limit.
private final class AnswerBody {
    private(set) var bytes: [UInt8] = []
    private(set) var isOverLimit = false
    private let limit: Int

    init(limit: Int) {
        self.limit = limit
    }

    func append(_ octets: UnsafeRawBufferPointer) -> Bool {
        guard bytes.count + octets.count <= limit else {
            isOverLimit = true
            return false
        }
        unsafe bytes.append(contentsOf: octets)
        return true
    }
}
