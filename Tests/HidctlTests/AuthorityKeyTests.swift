// SPDX-License-Identifier: Apache-2.0
import Foundation
import HIDCrypto
import HIDService
import HIDTesting
import Testing

@testable import hidctl

/// `device simulate --authority-key --authority-out`: the key of a test authority before there is a server.
@Suite struct AuthorityKeyTests {
    private let folder: ConfigurationFolder

    init() throws {
        folder = try ConfigurationFolder()
    }

    private func simulate(_ options: String...) -> ControlOutcome {
        HidctlProgram.run(
            arguments: ["device", "simulate"] + options,
            environment: ControlEnvironment(now: { 1_800_000_000 }, readInput: { _ in [] }))
    }

    private func contents(_ name: String) throws -> [UInt8] {
        try FileSystem.contents(of: "\(folder.path)/\(name)", limit: 65_536)
    }

    @Test func `both halves are written without a server, and the private one is kept`() throws {
        let options = ["--authority-key", "\(folder.path)/a.pem", "--authority-out", "\(folder.path)/a.pub"]
        let first = simulate(options[0], options[1], options[2], options[3])
        #expect(first.exit == 0 && first.stdout.contains("(made)") && first.stderr == "")
        let key = try P256PrivateKey(pem: contents("a.pem"))
        #expect(try P256PublicKey(pem: contents("a.pub")).point == key.publicKey.point)
        let mode = try FileManager.default.attributesOfItem(atPath: "\(folder.path)/a.pem")[.posixPermissions] as? Int
        #expect(mode == 0o600)

        let pem = try contents("a.pem")
        let second = simulate(options[0], options[1], options[2], options[3], "--json")
        #expect(second.exit == 0)
        #expect(try PrintedJSON(second.stdout).boolean("made") == false)
        #expect(try PrintedJSON(second.stdout).text("authority_out") == options[3])
        #expect(try contents("a.pem") == pem)
    }

    @Test func `a file that holds no key is refused and stays as it is`() throws {
        try folder.write("a.pem", "no key")
        let outcome = simulate("--authority-key", "\(folder.path)/a.pem", "--authority-out", "\(folder.path)/a.pub")
        #expect(outcome.exit == 1)
        #expect(try contents("a.pem") == Array("no key".utf8))
        #expect(throws: SystemFault.self) { try contents("a.pub") }
    }

    @Test(arguments: [
        ["--url", "http://127.0.0.1:1/"], ["--issuer-key", "i.pem"], ["--no-token"], ["--verdict", "human"],
        ["--device-id", "d"], ["--expect", "200"],
    ])
    func `without a server nothing goes with it`(_ more: [String]) throws {
        let options = ["--authority-key", "\(folder.path)/a.pem", "--authority-out", "\(folder.path)/a.pub"]
        let outcome = HidctlProgram.run(
            arguments: ["device", "simulate"] + options + more,
            environment: ControlEnvironment(now: { 0 }, readInput: { _ in [] }))
        #expect(outcome.exit == 2 && outcome.stderr.contains(more[0]), "\(outcome.stderr)")
        #expect(throws: SystemFault.self) { try contents("a.pem") }
    }

    @Test func `the public half alone is a wrong command line`() {
        let outcome = simulate("--authority-out", "\(folder.path)/a.pub")
        #expect(outcome.exit == 2 && outcome.stderr.contains("--authority-key"))
    }
}
