// SPDX-License-Identifier: Apache-2.0
import Foundation
import HIDCrypto
import HIDTesting
import Testing

/// A disk that takes no more, played by the limit of file sizes.
@Suite(
    .timeLimit(.minutes(10)),
    .enabled(if: FileManager.default.isExecutableFile(atPath: IssuerBench.prlimit), "there is no prlimit")
)
struct IssuerDiskFullTests {
    /// Lets no file of the server grow beyond a size; nil takes the limit away.
    private func limit(_ his: IssuerBench, _ octets: Int?) throws {
        let size = octets.map(String.init) ?? "unlimited"
        let outcome = try Pages.run(
            executable: URL(fileURLWithPath: IssuerBench.prlimit), ["--pid", "\(his.pid)", "--fsize=\(size):"])
        try #require(outcome.exit == 0, "\(outcome.output)")
    }

    private func size(_ his: IssuerBench, _ name: String) throws -> Int {
        let path = "\(his.folder.path)/\(name)"
        return try FileManager.default.attributesOfItem(atPath: path)[.size] as? Int ?? 0
    }

    @Test func `a full disk is 503 for whoever needs it, and over when there is room`() throws {
        let his = try IssuerBench()
        let evidence = AuthorityEvidence(authority: his.authority)
        let known = try ScriptedPhone("known", evidence)
        let new = try ScriptedPhone("new", evidence)
        let client = try his.client()
        let hid = try known.register(client).hid
        let challenge = try new.challenge(client)
        let request = try new.attestation(challenge)
        let proof = try known.keyProof(try known.challenge(client))

        try limit(his, size(his, "registry.db-wal"))
        for refused in [request, proof] {
            let answer = try IssuerReply(client.exchange(refused))
            #expect(answer.status == 503)
            #expect(answer.code == "unavailable")
            #expect(answer.json["token"] == .missing)
            #expect(answer.message["Retry-After"].flatMap { Int($0) } ?? 0 > 0)
        }
        #expect(try new.challenge(client).status == 503)
        #expect(his.daemon.event("request.unavailable")?["fault"].text?.contains("no room") == true)
        #expect(try his.publishedKeys().count == 2)
        #expect(try IssuerBench.eventually { try his.admin("/readyz")?.status == 503 })
        #expect(try his.admin("/readyz")?.text.contains("store: ") == true)
        #expect(try his.admin("/healthz")?.status == 200)
        #expect(try his.metric("hisd_store_writable") == 0)

        try limit(his, nil)
        #expect(try IssuerBench.eventually { try his.admin("/readyz")?.status == 200 })
        // What was refused has changed nothing: the same challenges are good.
        let registered = try IssuerReply(client.exchange(request))
        #expect(registered.status == 200)
        #expect(try IssuerReply(client.exchange(proof)).hid == hid)
        #expect(try his.metric("hisd_store_writable") == 1)
        #expect(his.stop() == 0)
        try his.restart()
        #expect(try new.comeBack(his.client()).hid == registered.hid)
        #expect(try known.comeBack(his.client()).hid == hid)
    }

    @Test func `keys are not rotated on a full disk, and those that are there stay`() throws {
        let his = try IssuerBench()
        let before = try his.publishedKeys()
        try limit(his, 1)
        let refused = try his.admin("/api/keys/rotate", method: "POST", body: "{\"overlap\":\"0s\"}")
        #expect(refused?.status == 409)
        #expect(refused?.text.contains("keys_not_rotated") == true)
        #expect(try his.publishedKeys() == before)
        try limit(his, nil)
        #expect(try his.admin("/api/keys/rotate", method: "POST", body: "{\"overlap\":\"0s\"}")?.status == 200)
        #expect(try IssuerBench.eventually { try his.publishedKeys().first == before[1] })
        #expect(his.stop() == 0)
        try his.restart()
        #expect(try his.publishedKeys().count == 3)
        let names = try FileManager.default.contentsOfDirectory(atPath: his.folder.path + "/keys")
        #expect(names.count == 4, "\(names)")
    }

    @Test func `a server that starts on a full disk says so and exits 1`() throws {
        let folder = try TestFolder()
        try IssuerBench.writeAuthority(.init(), to: folder)
        let path = try folder.write("his.yaml", IssuerBench.configuration(.init()))
        let child = try ChildProcess(
            "/bin/bash", ["-c", "ulimit -f 1 && exec \"$0\" --config \"$1\"", IssuerBench.program, path])
        #expect(child.exitCode() == 1)
        let text = child.allLines().joined(separator: "\n")
        #expect(text.contains("start.failed"), "\(text)")
        #expect(text.contains("registry"), "\(text)")
    }
}
