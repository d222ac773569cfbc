// SPDX-License-Identifier: Apache-2.0
import HIDService
import Testing

@Suite struct LogTests {
    @Test func `an event is one line with its fields`() {
        let memory = MemoryLog()
        let log = Log(sink: .memory(memory), now: { 0 })
        let path = "/a\"b\n"
        log.info("ready", ["listener.count": 2, "path": .string(path), "ok": true, "load": 0.5, "none": nil])
        log.error("upstream failed", ["upstream.name": "api", "peer": .bytes([0xFF, 0x41]), "text": "\(1)-\(2)"])
        #expect(
            memory.lines == [
                #"{"time":"1970-01-01T00:00:00.000Z","level":"info","event":"ready","listener.count":2,"#
                    + #""path":"/a\u0022b\u000a","ok":true,"load":0.5,"none":null}"#,
                #"{"time":"1970-01-01T00:00:00.000Z","level":"error","event":"upstream failed","#
                    + #""upstream.name":"api","peer":"\u00ffA","text":"1-2"}"#,
            ])
    }

    @Test func `events below the minimum are not written`() {
        let memory = MemoryLog()
        let log = Log(minimum: .warning, sink: .memory(memory), now: { 0 })
        log.debug("a")
        log.info("b")
        log.warning("c")
        log.error("d")
        #expect(memory.lines.count == 2)
        #expect(Log.Level.allCases == Log.Level.allCases.sorted())
    }
}
