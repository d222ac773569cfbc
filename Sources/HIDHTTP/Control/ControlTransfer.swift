// SPDX-License-Identifier: Apache-2.0

internal import CCurl

/// What a control-plane transfer brought.
package struct ControlResponse: Sendable, Equatable {
    package var status: Int
    package var body: [UInt8]
    /// The value of Cache-Control, if any.
    package var cacheControl: String?

    /// Seconds of `max-age` (RFC 9111 section 5.2.2.1); nil without a readable one.
    package var maxAge: Int? {
        guard let cacheControl else { return nil }
        for directive in cacheControl.utf8.split(separator: 0x2C) {
            let text = directive.drop { $0 == 0x20 || $0 == 0x09 }
            let name = Array("max-age=".utf8)
            guard text.count > name.count, text.prefix(name.count).map(ASCII.lower) == name else { continue }
            let digits = text.dropFirst(name.count).prefix { $0 &- 0x30 < 10 }
            guard (1...9).contains(digits.count) else { return digits.isEmpty ? nil : 1_000_000_000 }
            return digits.reduce(0) { $0 * 10 + Int($1 - 0x30) }
        }
        return nil
    }
}

/// Why a control-plane transfer failed, in libcurl's words.
package struct ControlFault: Error, Sendable, Equatable, CustomStringConvertible {
    package let description: String
}

/// An ordinary libcurl GET, for key sets and lists: blocking, so only for a queue of the control plane.
package enum ControlTransfer {
    /// Gets `url`: no redirects, no proxy from the environment, at most `limit` octets, `timeout` in all.
    package static func get(
        _ url: String, limit: Int, timeout: Duration, certificateAuthorities: String? = nil
    ) -> Result<ControlResponse, ControlFault> {
        guard let easy = unsafe curl_easy_init() else { return .failure(ControlFault(description: "out of memory")) }
        defer { unsafe curl_easy_cleanup(easy) }
        let body = BoundedBody(limit: limit)
        let settings: [CURLcode] = unsafe [
            hid_curl_set_string(easy, CURLOPT_URL, url),
            hid_curl_set_string(easy, CURLOPT_PROTOCOLS_STR, "http,https"),
            hid_curl_set_string(easy, CURLOPT_PROXY, ""),
            hid_curl_set_string(easy, CURLOPT_NOPROXY, "*"),
            hid_curl_set_long(easy, CURLOPT_NOSIGNAL, 1),
            hid_curl_set_long(easy, CURLOPT_FOLLOWLOCATION, 0),
            hid_curl_set_long(easy, CURLOPT_TIMEOUT_MS, Int(clamping: timeout.nanoseconds / 1_000_000)),
            hid_curl_set_long(easy, CURLOPT_CONNECTTIMEOUT_MS, 2_000),
            hid_curl_set_string(easy, CURLOPT_USERAGENT, "hidgate"),
            hid_curl_set_write(easy, CURLOPT_WRITEFUNCTION) { bytes, size, count, context in
                guard let bytes = unsafe bytes, let context = unsafe context else { return 0 }
                let body = unsafe Unmanaged<BoundedBody>.fromOpaque(context).takeUnretainedValue()
                let octets = unsafe UnsafeRawBufferPointer(start: bytes, count: size * count)
                return unsafe body.append(octets) ? octets.count : 0
            },
            hid_curl_set_pointer(easy, CURLOPT_WRITEDATA, Unmanaged.passUnretained(body).toOpaque()),
        ]
        guard settings.allSatisfy({ $0 == CURLE_OK }) else {
            return .failure(ControlFault(description: "libcurl refused a setting for \(url)"))
        }
        if let certificateAuthorities {
            _ = unsafe hid_curl_set_string(easy, CURLOPT_CAINFO, certificateAuthorities)
        }
        let code = unsafe curl_easy_perform(easy)
        return withExtendedLifetime(body) {
            guard !body.isOverLimit else {
                return .failure(ControlFault(description: "the answer is over \(limit) octets"))
            }
            guard code == CURLE_OK else {
                return .failure(ControlFault(description: unsafe String(cString: curl_easy_strerror(code))))
            }
            return .success(unsafe response(easy, body.bytes))
        }
    }

    private static func response(_ easy: UnsafeMutableRawPointer, _ body: [UInt8]) -> ControlResponse {
        var status = 0
        _ = unsafe hid_curl_get_long(easy, CURLINFO_RESPONSE_CODE, &status)
        var header: UnsafeMutablePointer<curl_header>?
        var cacheControl: String?
        if unsafe curl_easy_header(easy, "Cache-Control", 0, UInt32(CURLH_HEADER), -1, &header) == CURLHE_OK,
            let value = unsafe header?.pointee.value
        {
            cacheControl = unsafe String(cString: value)
        }
        return ControlResponse(status: status, body: body, cacheControl: cacheControl)
    }
}

/// Gathers an answer up to a limit.
private final class BoundedBody {
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
