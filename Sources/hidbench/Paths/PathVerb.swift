// SPDX-License-Identifier: Apache-2.0

import HIDGateway
import HIDService

/// `hidbench paths`: what it costs to find the route of a request-target.
enum PathVerb {
    static let verb = CommandLineParser.Verb(
        "paths", options: [.init("batches", value: "N", help: "batches of 200 look-ups each; default 50")],
        help: "nanoseconds of CPU to resolve a request-target, medians, usual and hostile ones")

    /// A target, or what one of 8 KiB is filled with.
    private static let targets: [(name: StaticString, label: String, text: String, isRepeated: Bool)] = [
        ("plain_ns", "plain", "/api/v1/items/1234?page=2", false),
        ("encoded_ns", "normalised, folded", "/api/./v1/Caf%c3%A9/x.json", false),
        ("ambiguous_ns", "ambiguous", "/items/a%2Fb;v=1/c", false),
        ("touched_ns", "ambiguous, refused", "/public/..;/admin", false),
        ("long_plain_ns", "8 KiB of /a", "/a", true),
        ("long_slashes_ns", "8 KiB of %2F", "%2F", true),
        ("long_twice_ns", "8 KiB of %252F", "%252F", true),
        ("long_parameters_ns", "8 KiB of /;", "/;", true),
        ("long_climbs_ns", "8 KiB of ..;/a/", "/a/..;", true),
        ("long_dots_ns", "8 KiB of a.;", "a.", true),
        ("long_users_ns", "8 KiB of /users;", "/users;", true),
    ]

    static func run(_ arguments: ParsedArguments) throws(BenchError) -> String {
        let batches = try arguments.count("batches", 50, maximum: 1_000_000)
        var report = BenchReport()
        for target in targets {
            var octets = Array(target.text.utf8)
            if target.isRepeated {
                let piece = octets
                octets = Array("/x;".utf8)
                while octets.count + piece.count <= RequestTarget.maximumLength { octets += piece }
            }
            let request = FuzzRequest(method: "GET", host: "api.example.test", target: octets)
            var judge = try FuzzVerb.judge(.guarded)
            var samples = Samples()
            for _ in 0..<batches { samples.add(ThreadClock.cost { for _ in 0..<200 { _ = judge.judge(request) } } * 5) }
            report.add(target.name, samples.median, target.label, "ns")
        }
        return report.text(json: arguments.has("json"))
    }
}
