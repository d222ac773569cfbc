// SPDX-License-Identifier: Apache-2.0

import HIDCrypto
import HIDService

/// `hidbench authority PRIVATE PUBLIC`: the key pair of a test authority for a server that is to be measured.
enum AuthorityVerb {
    static let verb = CommandLineParser.Verb(
        "authority", positionals: ["PRIVATE", "PUBLIC"],
        help: "make a test authority: a private key for --authority-key, a public one for authority_keys in his.yaml")

    static func run(_ arguments: ParsedArguments) throws(BenchError) -> String {
        let (secret, open) = (arguments.positionals[0], arguments.positionals[1])
        let key: P256PrivateKey
        let pem: [UInt8]
        do throws(CryptoError) {
            key = try P256PrivateKey()
            pem = try key.pem()
        } catch {
            throw .failure("OpenSSL: \(error)")
        }
        try write(pem, secret, mode: 0o600)
        try write(PEM.text(key.publicKey.subjectPublicKeyInfo, label: "PUBLIC KEY"), open, mode: 0o644)
        return ""
    }

    private static func write(_ bytes: [UInt8], _ path: String, mode: UInt32) throws(BenchError) {
        do throws(SystemFault) {
            try FileSystem.replace(path, with: bytes, mode: mode)
        } catch {
            throw .failure("cannot write \(path.quoted): \(error)")
        }
    }
}
