// SPDX-License-Identifier: Apache-2.0
import Foundation
import HIDHTTP
import Testing

@Suite struct HTTPDateTests {
    private func text(_ seconds: Int64) -> String {
        var bytes: [UInt8] = []
        HTTPDate.append(seconds, to: &bytes)
        return String(decoding: bytes, as: UTF8.self)
    }

    @Test(arguments: [
        (784_111_777, "Sun, 06 Nov 1994 08:49:37 GMT"), (0, "Thu, 01 Jan 1970 00:00:00 GMT"),
        (951_782_400, "Tue, 29 Feb 2000 00:00:00 GMT"), (4_107_542_399, "Sun, 28 Feb 2100 23:59:59 GMT"),
        (253_402_300_799, "Fri, 31 Dec 9999 23:59:59 GMT"), (-1, ""), (253_402_300_800, ""),
    ])
    func `a moment is written as the RFC writes it`(_ seconds: Int64, _ expected: String) {
        #expect(text(seconds) == expected)
    }

    @Test func `the calendar is that of the system over four hundred years`() {
        let formatter = DateFormatter()
        formatter.locale = Locale(identifier: "en_US_POSIX")
        formatter.timeZone = TimeZone(identifier: "GMT")
        formatter.dateFormat = "EEE, dd MMM yyyy HH:mm:ss 'GMT'"
        for seconds in stride(from: Int64(0), to: 12_700_000_000, by: 8_640_007) {
            #expect(text(seconds) == formatter.string(from: Date(timeIntervalSince1970: Double(seconds))))
        }
    }
}
