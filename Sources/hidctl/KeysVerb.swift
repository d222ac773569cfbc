// SPDX-License-Identifier: Apache-2.0

import HIDCrypto
import HIDService

/// `hidctl keys list` and `hidctl keys rotate`: the signing keys of a running hisd.
enum KeysVerb {
    static let defaultConfiguration = "/etc/hidgate/his.yaml"

    static let list = CommandLineParser.Verb(
        "keys list", options: AdminClient.options, help: "show the signing keys of hisd and what each one does")

    static let rotate = CommandLineParser.Verb(
        "keys rotate",
        options: AdminClient.options + [
            .init(
                "overlap", value: "DURATION",
                help: "how long the next key must have been published before it signs; default 10m")
        ],
        help: "have the next key sign, publish another one, and retire the present one when its tokens are over")

    static func list(_ arguments: ParsedArguments, _ outcome: inout ControlOutcome) throws(VerbError) {
        let client = try AdminClient(arguments, defaultConfiguration: defaultConfiguration)
        let json = try client.send("GET", "/api/keys")
        guard !arguments.has("json") else { return outcome.print(ControlJSON(json.root, in: json).line) }
        for key in json.member("keys", of: json.root).map({ json.elements(of: $0) }) ?? [] {
            let text = { (name: StaticString) in
                Printable.text(json.member(name, of: key).flatMap { json.textBytes($0) } ?? Array("-".utf8))
            }
            outcome.print(
                "\(text("kid"))  \(text("state"))  published \(text("published"))  signs from \(text("activates"))"
                    + "  retires \(text("retires"))")
        }
    }

    static func rotate(_ arguments: ParsedArguments, _ outcome: inout ControlOutcome) throws(VerbError) {
        var content: ControlJSON = [:]
        if let overlap = arguments.value("overlap") {
            guard ScalarText.duration(overlap.utf8) != nil else {
                throw .usage("--overlap \(overlap.quoted) is no duration such as 10m")
            }
            content = ["overlap": ControlJSON(overlap)]
        }
        let client = try AdminClient(arguments, defaultConfiguration: defaultConfiguration)
        let json = try client.send("POST", "/api/keys/rotate", content)
        guard !arguments.has("json") else { return outcome.print(ControlJSON(json.root, in: json).line) }
        let text = { (name: StaticString) in
            Printable.text(json.member(name, of: json.root).flatMap { json.textBytes($0) } ?? [])
        }
        outcome.row("next", "\(text("kid")) signs from \(text("activates"))")
        outcome.row("previous", text("previous"))
    }
}
