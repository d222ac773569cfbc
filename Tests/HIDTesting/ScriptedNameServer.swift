// SPDX-License-Identifier: Apache-2.0
import Foundation
import Glibc

/// A name server on UDP that says what it is told, for every name (RFC 1035 section 4).
package final class ScriptedNameServer: Sendable {
    /// What it does with a question.
    package enum Reply: Sendable {
        /// Addresses of the question's type; with none of them the answer is empty.
        case addresses([String], life: UInt32)
        /// An error: 2 is SERVFAIL, 3 NXDOMAIN.
        case failure(UInt8)
        case silence
        /// Octets that are no message.
        case garbage
        /// A message that is cut in the middle of an address.
        case cut
    }

    private struct Board: Sendable {
        var reply: Reply
        var questions = 0
        var isStopped = false
    }

    package let port: UInt16
    private let descriptor: Int32
    private let board: Monitor<Board>

    package init(_ reply: Reply) throws {
        let descriptor = socket(AF_INET, Int32(SOCK_DGRAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
        guard descriptor >= 0 else { throw WireError.system("socket", errno) }
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
        var length = socklen_t(MemoryLayout<sockaddr_in>.size)
        let bound = unsafe withUnsafeMutablePointer(to: &address) { pointer in
            unsafe pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                unsafe bind(descriptor, $0, length) == 0 && getsockname(descriptor, $0, &length) == 0
            }
        }
        guard bound else { throw WireError.system("bind", errno) }
        port = UInt16(bigEndian: address.sin_port)
        self.descriptor = descriptor
        let board = Monitor(Board(reply: reply))
        self.board = board
        Thread.detachNewThread { Self.serve(descriptor, board) }
    }

    deinit {
        board.withLock { $0.isStopped = true }
    }

    /// As it stands in a configuration.
    package var address: String { "127.0.0.1:\(port)" }
    /// Questions asked so far.
    package var questions: Int { board.withLock { $0.questions } }

    package func set(_ reply: Reply) { board.withLock { $0.reply = reply } }

    /// Whether that many more questions came before the deadline.
    package func isAsked(_ more: Int = 1, within time: Duration = .seconds(20)) -> Bool {
        let start = questions
        return board.wait(Deadline(in: time)) { $0.questions >= start + more ? true : nil } ?? false
    }

    private static func serve(_ descriptor: Int32, _ board: Monitor<Board>) {
        defer { close(descriptor) }
        var buffer = [UInt8](repeating: 0, count: 1500)
        while !board.withLock({ $0.isStopped }) {
            var entry = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
            guard unsafe poll(&entry, 1, 100) > 0 else { continue }
            var peer = sockaddr_storage()
            var length = socklen_t(MemoryLayout<sockaddr_storage>.size)
            let count = unsafe withUnsafeMutablePointer(to: &peer) { pointer in
                unsafe pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                    unsafe recvfrom(descriptor, &buffer, buffer.count, 0, $0, &length)
                }
            }
            guard count > 12 else { continue }
            let reply = board.withLock { board in
                board.questions += 1
                return board.reply
            }
            guard let answer = answer(Array(buffer[..<count]), reply) else { continue }
            _ = unsafe withUnsafePointer(to: &peer) { pointer in
                unsafe pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                    unsafe sendto(descriptor, answer, answer.count, 0, $0, length)
                }
            }
        }
    }

    private static func answer(_ question: [UInt8], _ reply: Reply) -> [UInt8]? {
        guard var end = question[12...].firstIndex(of: 0), end + 5 <= question.count else { return nil }
        let type = question[end + 2]
        end += 5
        var records: [[UInt8]] = []
        var code: UInt8 = 0
        switch reply {
        case .silence: return nil
        case .garbage: return [question[0], question[1], 0x81, 0x80] + [UInt8](repeating: 0xC0, count: 40)
        case .failure(let failure): code = failure
        case .cut: records = [record([127, 0, 0, 1], type: 1, life: 60)]
        case .addresses(let addresses, let life):
            for text in addresses where text.contains(":") == (type == 28) {
                guard let octets = octets(text), type == 1 || type == 28 else { continue }
                records.append(record(octets, type: type, life: life))
            }
        }
        var message = [question[0], question[1], 0x81, 0x80 | code, 0, 1, 0, UInt8(records.count), 0, 0, 0, 0]
        message += question[12..<end]
        for record in records { message += record }
        if case .cut = reply { message.removeLast(2) }
        return message
    }

    private static func record(_ octets: [UInt8], type: UInt8, life: UInt32) -> [UInt8] {
        let time = [24, 16, 8, 0].map { UInt8(truncatingIfNeeded: life >> UInt32($0)) }
        return [0xC0, 0x0C, 0, type, 0, 1] + time + [0, UInt8(octets.count)] + octets
    }

    private static func octets(_ text: String) -> [UInt8]? {
        var four = in_addr()
        if unsafe inet_pton(AF_INET, text, &four) == 1 {
            return unsafe withUnsafeBytes(of: &four) { unsafe [UInt8]($0) }
        }
        var six = in6_addr()
        guard unsafe inet_pton(AF_INET6, text, &six) == 1 else { return nil }
        return unsafe withUnsafeBytes(of: &six) { unsafe [UInt8]($0) }
    }
}
