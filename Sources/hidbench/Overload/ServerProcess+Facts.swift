// SPDX-License-Identifier: Apache-2.0

import Glibc
import HIDService

extension ServerProcess {
    /// Descriptors it holds now.
    func descriptors() throws(BenchError) -> Int {
        do throws(SystemFault) {
            return try FileSystem.names(in: "/proc/\(pid)/fd").count
        } catch {
            throw .failure("process \(pid): \(error)")
        }
    }

    /// Octets of its memory that are in RAM (proc(5), statm).
    func residentMemory() throws(BenchError) -> Int {
        let text = try BenchFile.contents("/proc/\(pid)/statm", limit: 4096)
        let fields = text.split(separator: UInt8(ascii: " "))
        guard fields.count > 1, let pages = Int(String(decoding: fields[1], as: UTF8.self)) else {
            throw .failure("process \(pid) tells nothing of its memory")
        }
        return pages * Int(sysconf(Int32(_SC_PAGESIZE)))
    }
}
