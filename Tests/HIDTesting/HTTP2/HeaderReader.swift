// SPDX-License-Identifier: Apache-2.0
internal import CNghttp2

/// Decodes the header blocks of our answers, as a client does.
@safe package final class HeaderReader {
    private var inflater: OpaquePointer?

    package init() {
        let result = unsafe nghttp2_hd_inflate_new(&inflater)
        precondition(result == 0, "memory")
    }

    deinit { unsafe nghttp2_hd_inflate_del(inflater) }

    /// The fields of one whole block, `name: value` each; nil when it cannot be decoded.
    package func read(_ block: [UInt8]) -> [String]? {
        var lines: [String] = []
        var rest = block[...]
        while true {
            var field = unsafe nghttp2_nv()
            var flags: Int32 = 0
            let octets = Array(rest)
            let used = unsafe octets.withUnsafeBufferPointer {
                unsafe nghttp2_hd_inflate_hd2(inflater, &field, &flags, $0.baseAddress, $0.count, 1)
            }
            guard used >= 0 else { return nil }
            rest = rest.dropFirst(used)
            if flags & Int32(NGHTTP2_HD_INFLATE_EMIT.rawValue) != 0 {
                let name = unsafe UnsafeBufferPointer(start: field.name, count: field.namelen)
                let value = unsafe UnsafeBufferPointer(start: field.value, count: field.valuelen)
                unsafe lines.append(
                    String(decoding: name, as: UTF8.self) + ": " + String(decoding: value, as: UTF8.self))
            }
            if flags & Int32(NGHTTP2_HD_INFLATE_FINAL.rawValue) != 0 {
                unsafe nghttp2_hd_inflate_end_headers(inflater)
                return lines
            }
            if used == 0, rest.isEmpty { return lines }
        }
    }
}
