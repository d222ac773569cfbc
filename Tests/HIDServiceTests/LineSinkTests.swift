// SPDX-License-Identifier: Apache-2.0
import Dispatch
import Glibc
import HIDService
import Testing

@Suite(.timeLimit(.minutes(10))) struct LineSinkTests {
    private static func line(_ number: Int, length: Int = 64) -> [UInt8] {
        let digits = Array(String(number).utf8)
        return digits + [UInt8](repeating: 0x2E, count: max(0, length - digits.count - 1)) + [0x0A]
    }

    private static func numbers(_ bytes: [UInt8]) -> [Int?] {
        bytes.split(separator: 0x0A).map { Int(String(decoding: $0.prefix { $0 != 0x2E }, as: UTF8.self)) }
    }

    @Test func `lines reach a file in order, after what was there`() throws {
        let folder = try TemporaryFolder()
        for _ in 0..<2 {
            let sink = try LineSink(.file(path: folder.path + "/log"))
            for number in 0..<1000 { sink.write(Self.line(number)) }
            sink.flush()
            #expect(sink.dropped == 0 && sink.failures == 0)
        }
        let bytes = try FileSystem.contents(of: folder.path + "/log", limit: 1 << 20)
        #expect(Self.numbers(bytes) == Array(0..<1000) + Array(0..<1000))
    }

    @Test func `a file that cannot be opened throws`() {
        #expect(throws: SystemFault(code: ENOENT)) { try LineSink(.file(path: "/no/such/log")) }
    }

    @Test func `reopen goes on in a new file after a rename`() throws {
        let folder = try TemporaryFolder()
        let path = folder.path + "/log"
        let sink = try LineSink(.file(path: path))
        sink.write(Self.line(1))
        sink.flush()
        #expect(unsafe rename(path, path + ".1") == 0)
        sink.write(Self.line(2))
        sink.flush()
        sink.reopen()
        sink.write(Self.line(3))
        sink.flush()
        #expect(Self.numbers(try FileSystem.contents(of: path + ".1", limit: 1000)) == [1, 2])
        #expect(Self.numbers(try FileSystem.contents(of: path, limit: 1000)) == [3])
    }

    @Test func `a reopen that fails is counted and keeps the old file`() throws {
        let folder = try TemporaryFolder()
        let inner = folder.path + "/d"
        #expect(unsafe mkdir(inner, 0o700) == 0)
        let sink = try LineSink(.file(path: inner + "/log"))
        #expect(unsafe rename(inner, folder.path + "/e") == 0)
        sink.reopen()
        sink.write(Self.line(1))
        sink.flush()
        #expect(sink.failures == 1)
        #expect(Self.numbers(try FileSystem.contents(of: folder.path + "/e/log", limit: 1000)) == [1])
    }

    @Test(arguments: [false, true]) func `a full pipe drops whole lines and never blocks the writer`(
        isNonBlocking: Bool
    ) throws {
        let pipe = try Pipe()
        if isNonBlocking { _ = fcntl(pipe.writeEnd, F_SETFL, O_NONBLOCK) }
        let sink = try LineSink(.descriptor(pipe.writeEnd), capacity: 16 << 10)
        let count = 10_000
        for number in 0..<count { sink.write(Self.line(number)) }
        // 640 kB do not fit into a pipe of 64 KiB and a buffer of 16 KiB.
        #expect(sink.dropped > 0)
        let received = pipe.readInBackground()
        sink.flush(within: .seconds(30))
        pipe.closeWriteEnd()
        let numbers = Self.numbers(received())
        #expect(numbers.count + sink.dropped == count)
        #expect(numbers.allSatisfy { $0 != nil })
        #expect(numbers.compactMap(\.self) == numbers.compactMap(\.self).sorted())
    }

    @Test func `lines longer than a pipe takes at once come out whole`() throws {
        let pipe = try Pipe()
        let sink = try LineSink(.descriptor(pipe.writeEnd))
        let received = pipe.readInBackground()
        for number in 0..<20 { sink.write(Self.line(number, length: 50_000)) }
        sink.flush(within: .seconds(30))
        pipe.closeWriteEnd()
        let bytes = received()
        #expect(sink.dropped == 0)
        #expect(bytes.count == 20 * 50_000)
        #expect(Self.numbers(bytes) == Array(0..<20))
    }

    @Test func `a closed reader costs lines, not the process`() throws {
        ServiceSignals.ignoreFailedWrites()
        let pipe = try Pipe()
        let sink = try LineSink(.descriptor(pipe.writeEnd))
        pipe.closeReadEnd()
        for number in 0..<10 {
            sink.write(Self.line(number))
            sink.flush()
        }
        #expect(sink.dropped == 10)
        #expect(sink.failures == 10)
    }

    @Test func `a full disk costs lines`() throws {
        let sink = try LineSink(.file(path: "/dev/full"))
        sink.write(Self.line(1))
        sink.write(Self.line(2))
        sink.flush()
        #expect(sink.dropped == 2)
        #expect(sink.failures >= 1)
    }

    @Test func `flush gives up at its limit when nobody reads`() throws {
        let pipe = try Pipe()
        let sink = try LineSink(.descriptor(pipe.writeEnd))
        for number in 0..<4096 { sink.write(Self.line(number)) }
        let start = SystemClock.monotonicMicroseconds
        sink.flush(within: .milliseconds(20))
        #expect(SystemClock.monotonicMicroseconds - start < 10_000_000)
        #expect(sink.dropped > 0)
        let received = pipe.readInBackground()
        sink.write(Self.line(9999))
        sink.flush(within: .seconds(30))
        pipe.closeWriteEnd()
        let numbers = Self.numbers(received())
        #expect(numbers.count + sink.dropped == 4097)
        #expect(numbers.last == 9999)
    }

    @Test func `lines of many threads are not mixed`() throws {
        let folder = try TemporaryFolder()
        let sink = try LineSink(.file(path: folder.path + "/log"))
        DispatchQueue.concurrentPerform(iterations: 8) { thread in
            for number in 0..<500 { sink.write(Self.line(thread * 1000 + number)) }
        }
        sink.flush()
        let numbers = Self.numbers(try FileSystem.contents(of: folder.path + "/log", limit: 1 << 20))
        #expect(Set(numbers.compactMap(\.self)).count == 4000)
        #expect(numbers.count == 4000)
    }

    @Test func `a log can write to a sink`() throws {
        let folder = try TemporaryFolder()
        let sink = try LineSink(.file(path: folder.path + "/log"))
        Log(sink: .lines(sink), now: { 0 }).info("ready")
        sink.flush()
        let expected = #"{"time":"1970-01-01T00:00:00.000Z","level":"info","event":"ready"}"# + "\n"
        #expect(try FileSystem.contents(of: folder.path + "/log", limit: 1000) == Array(expected.utf8))
    }
}
