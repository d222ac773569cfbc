// SPDX-License-Identifier: Apache-2.0
import Dispatch
import Glibc
import HIDService
import Synchronization

/// An empty folder that goes away with its owner; holds files and folders one level deep.
final class TemporaryFolder {
    let path: String

    init() throws {
        var template = Array("/tmp/hid-service-XXXXXX".utf8CString)
        guard let made = unsafe mkdtemp(&template) else { throw SystemFault(code: errno) }
        path = unsafe String(cString: made)
    }

    deinit {
        for name in (try? FileSystem.names(in: path)) ?? [] {
            for inner in (try? FileSystem.names(in: "\(path)/\(name)")) ?? [] {
                _ = unsafe unlink("\(path)/\(name)/\(inner)")
            }
            _ = unsafe remove("\(path)/\(name)")
        }
        _ = unsafe rmdir(path)
    }
}

/// A pipe whose ends are closed once.
final class Pipe {
    let writeEnd: Int32
    private let readEnd: Int32
    private var isWriteEndOpen = true
    private var isReadEndOpen = true

    init() throws {
        var ends: [Int32] = [0, 0]
        guard unsafe pipe(&ends) == 0 else { throw SystemFault(code: errno) }
        (readEnd, writeEnd) = (ends[0], ends[1])
    }

    deinit {
        closeWriteEnd()
        closeReadEnd()
    }

    func closeWriteEnd() {
        if isWriteEndOpen { close(writeEnd) }
        isWriteEndOpen = false
    }

    func closeReadEnd() {
        if isReadEndOpen { close(readEnd) }
        isReadEndOpen = false
    }

    /// Reads until the end on another thread; the function given back waits for what came.
    func readInBackground() -> () -> [UInt8] {
        let done = DispatchSemaphore(value: 0)
        let box = Box()
        let descriptor = readEnd
        DispatchQueue.global().async {
            var chunk = [UInt8](repeating: 0, count: 4096)
            while true {
                let count = unsafe read(descriptor, &chunk, chunk.count)
                if count < 0, errno == EINTR { continue }
                guard count > 0 else { break }
                box.received.withLock { $0 += chunk[..<count] }
            }
            done.signal()
        }
        return {
            done.wait()
            return box.received.withLock { $0 }
        }
    }

    private final class Box: Sendable {
        let received = Mutex<[UInt8]>([])
    }
}
