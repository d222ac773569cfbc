// SPDX-License-Identifier: Apache-2.0
import HIDTesting
import Synchronization
import Testing

@testable import HIDIssuer

@Suite(.timeLimit(.minutes(10))) struct WorkerPoolTests {
    @Test(arguments: [(1, 1), (1, 5), (2, 2), (3, 64)])
    func `takes so many jobs and no more, and takes again when they are done`(workers: Int, limit: Int) throws {
        let pool = try WorkerPool(count: workers, limit: limit)
        let gate = Gate()
        let done = Monitor(0)
        for _ in 0..<limit {
            #expect(pool.hasRoom)
            #expect(
                pool.submit { _ in
                    gate.wait()
                    done.withLock { $0 += 1 }
                })
        }
        #expect(pool.depth == limit)
        #expect(!pool.hasRoom)
        for _ in 0..<10 { #expect(!pool.submit { _ in done.withLock { $0 += 1000 } }) }
        #expect(pool.depth == limit)
        gate.open()
        #expect(done.wait { $0 == limit ? true : nil } == true)
        #expect(Eventually.holds { pool.depth == 0 })
        #expect(pool.submit { _ in done.withLock { $0 += 1 } })
        #expect(done.wait { $0 == limit + 1 ? true : nil } == true)
    }

    @Test func `all workers work`() throws {
        let pool = try WorkerPool(count: 3, limit: 10)
        let gate = Gate()
        let running = Monitor(0)
        for _ in 0..<3 {
            #expect(
                pool.submit { _ in
                    running.withLock { $0 += 1 }
                    gate.wait()
                })
        }
        #expect(running.wait { $0 == 3 ? true : nil } == true)
        gate.open()
    }
}
