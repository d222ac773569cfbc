// SPDX-License-Identifier: Apache-2.0

import HIDCrypto
import HIDService

/// The key of a test authority in two files: the private half for the simulated device, the public one for the server.
struct AuthorityKeyPair {
    /// PEM of the private key.
    let path: String
    /// Where the public key was written; nil: nowhere.
    let publicPath: String?
    /// Whether the private key was made just now.
    let isNew: Bool

    /// Reads the private key, makes it when there is none, and writes the public half.
    init(key path: String, out publicPath: String?) throws(VerbError) {
        let (key, isNew) = try ControlFile.key(path)
        (self.path, self.publicPath, self.isNew) = (path, publicPath, isNew)
        guard let publicPath else { return }
        try ControlFile.replace(publicPath, with: PEM.text(key.publicKey.subjectPublicKeyInfo, label: "PUBLIC KEY"))
    }

    func describe(_ outcome: inout ControlOutcome) {
        outcome.row("authority", "\(Printable.text(path))\(isNew ? " (made)" : "")")
        if let publicPath { outcome.row("public key", Printable.text(publicPath)) }
    }

    // MARK: - Without a server

    /// Whether `--authority-out` stands without `--his`: the server reads the file when it starts, so the file comes
    /// first.
    ///
    /// - Throws: `usage` when other options stand beside it.
    static func isAllThatIsAsked(_ arguments: ParsedArguments) throws(VerbError) -> Bool {
        guard arguments.value("authority-out") != nil, arguments.value("his") == nil else { return false }
        for option in HidctlCommandLine.deviceSimulate.options
        where !["authority-key", "authority-out"].contains(option.name) {
            guard arguments.value(option.name) == nil, !arguments.has(option.name) else {
                throw .usage("--authority-out without --his only writes the key: --\(option.name) does not go with it")
            }
        }
        return true
    }

    static func make(_ arguments: ParsedArguments, _ outcome: inout ControlOutcome) throws(VerbError) {
        guard let path = arguments.value("authority-key") else {
            throw .usage("--authority-out needs --authority-key")
        }
        let pair = try AuthorityKeyPair(key: path, out: arguments.value("authority-out"))
        guard arguments.has("json") else { return pair.describe(&outcome) }
        let json: ControlJSON = [
            "authority_key": ControlJSON(pair.path), "authority_out": ControlJSON(pair.publicPath ?? ""),
            "made": .bool(pair.isNew),
        ]
        outcome.print(json.line)
    }
}
