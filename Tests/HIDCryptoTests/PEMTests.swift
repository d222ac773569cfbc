// SPDX-License-Identifier: Apache-2.0
import HIDCrypto
import HIDTesting
import Testing

@Suite struct PEMTests {
    private func read(_ text: String) -> Result<[[UInt8]], PEMFault> {
        do throws(PEMFault) {
            return .success(try PEM.blocks(Array(text.utf8), label: "CERTIFICATE"))
        } catch { return .failure(error) }
    }

    private let begin = "-----BEGIN CERTIFICATE-----"
    private let end = "-----END CERTIFICATE-----"

    @Test func `blocks come in their order with any line ends`() {
        let one = "\(begin)\nAQID\n\(end)\n"
        #expect(read(one) == .success([[1, 2, 3]]))
        #expect(read("# a root\n" + one + "\nanother\n\(begin)\nBA\n==\n\(end)") == .success([[1, 2, 3], [4]]))
        #expect(read("\(begin)\r\nAQID\r\nBAU=\r\n\(end)\r\n") == .success([[1, 2, 3, 4, 5]]))
    }

    @Test func `what is not exactly a block is refused`() {
        #expect(read("") == .failure(.noBlock))
        #expect(read("AQID") == .failure(.noBlock))
        #expect(read("\(begin)\nAQID") == .failure(.boundary))
        #expect(read("\(end)\n") == .failure(.boundary))
        #expect(read("\(begin)\n\(begin)\nAQID\n\(end)") == .failure(.boundary))
        #expect(read("-----BEGIN CERT-----\nAQID\n-----END CERT-----") == .failure(.label))
        #expect(read("\(begin) \nAQID\n\(end)") == .failure(.label))
        #expect(read("\(begin)\nAQID\n\(end) ") == .failure(.boundary))
        #expect(read("-----begin certificate-----\nAQID\n\(end)") == .failure(.boundary))
        #expect(read("\(begin)\n\(end)") == .failure(.base64))
        #expect(read("\(begin)\nAQI\n\(end)") == .failure(.base64))
        #expect(read("\(begin)\nAQ ID\n\(end)") == .failure(.base64))
        #expect(read("\(begin)\n\nAQID\n\(end)") == .failure(.base64))
        #expect(read("\(begin)\nProc-Type: 4,ENCRYPTED\nAQID\n\(end)") == .failure(.base64))
        #expect(read("\(begin)\nAR==\n\(end)") == .failure(.base64))
    }

    @Test func `a text has a size and a number of blocks`() {
        let block = "\(begin)\nAQID\n\(end)\n"
        #expect((try? read(String(repeating: block, count: 64)).get())?.count == 64)
        #expect(read(String(repeating: block, count: 65)) == .failure(.tooLong))
        #expect(read(String(repeating: "x", count: 1 << 20) + block) == .failure(.tooLong))
    }
}
