// SPDX-License-Identifier: Apache-2.0

import HIDCrypto
import HIDGateway
import HIDHTTP
import HIDService
import HIDVerifier

/// Sends a simulated request and reports the answers.
struct SimulationRun {
    private let options: SimulationOptions
    private let request: ControlRequest

    init(
        _ options: SimulationOptions, _ url: GivenURL, _ simulated: SimulatedRequest, certificateAuthorities: String?
    ) {
        self.options = options
        var request = ControlRequest(method: options.request.method, url: url.origin + "/")
        request.target = url.target
        request.fields = [Array("Host: ".utf8) + options.request.authority]
        request.fields += simulated.headerLines.map { Array($0.utf8) } + options.fields
        let isTyped = options.fields.contains { $0.map(Octet.lowercased).starts(with: "content-type:".utf8) }
        if !isTyped {
            let isJSON = simulated.body.first == 0x7B || simulated.body.first == 0x5B
            let type = simulated.body.isEmpty ? "" : isJSON ? " application/json" : " application/octet-stream"
            request.fields.append(Array("Content-Type:\(type)".utf8))
        }
        request.body = simulated.body
        request.certificateAuthorities = certificateAuthorities
        self.request = request
    }

    func perform(_ parts: SignedParts, isJSON: Bool, _ outcome: inout ControlOutcome) {
        if !isJSON { describe(parts, &outcome) }
        var entries: [ControlJSON] = []
        for number in 0..<options.repeats {
            let expected = number < options.expected.count ? options.expected[number] : options.expected.last
            switch ControlExchange.send(request) {
            case .failure(let fault):
                outcome.exit = ExitCode.failure
                outcome.warn("no answer: \(fault)")
                entries.append(["status": .null, "error": ControlJSON(fault.description)])
            case .success(let answer):
                let shown = ShownAnswer(answer)
                if let expected, answer.status != expected {
                    outcome.exit = ExitCode.failure
                    outcome.warn("status \(answer.status), expected \(expected)")
                }
                if !isJSON { shown.print(number + 1, &outcome) }
                entries.append(shown.json)
            }
        }
        if isJSON { outcome.print((["requests": .array(entries), "hid": .text(parts.hid)] as ControlJSON).line) }
    }

    private func describe(_ parts: SignedParts, _ outcome: inout ControlOutcome) {
        let made = "verdict \(options.verdict.rawValue), life \(options.life) s"
        let token = parts.verdict.map { "verdict \(Printable.text($0)), by the server" } ?? made
        outcome.row("token", options.sendsToken ? token : "none")
        outcome.row("signature", options.sendsSignature ? (options.profile == .v1 ? "v1" : "v2") : "none")
        if options.tampered != .none { outcome.row("spoilt", options.tampered.rawValue) }
        let line = Printable.text(request.method) + " " + Printable.text(request.target ?? [])
        outcome.row("request", "\(line) at \(Printable.text(request.url)), \(request.body.count) octets")
    }
}

/// An answer with the codes that lead an operator to its reason.
private struct ShownAnswer {
    let answer: ControlAnswer
    private(set) var requestID: [UInt8]?
    private(set) var supportCode: [UInt8]?

    init(_ answer: ControlAnswer) {
        self.answer = answer
        requestID = answer.requestID
        guard let json = try? StrictJSON(answer.body), let error = json.member("error", of: json.root) else { return }
        supportCode = json.member("support_code", of: error).flatMap { json.textBytes($0) }
        requestID = requestID ?? json.member("request_id", of: error).flatMap { json.textBytes($0) }
    }

    var json: ControlJSON {
        [
            "status": .integer(Int64(answer.status)), "request_id": ControlJSON(optional: requestID),
            "support_code": ControlJSON(optional: supportCode), "body": .text(answer.body),
        ]
    }

    func print(_ number: Int, _ outcome: inout ControlOutcome) {
        let codes = [("request id", requestID), ("support code", supportCode)]
            .compactMap { name, code in code.map { ", \(name) \(Printable.text($0))" } }
        outcome.row("answer \(number)", "\(answer.status)" + codes.joined())
        if !answer.body.isEmpty { outcome.row("", Printable.text(Array(answer.body.prefix(2_000)))) }
    }
}
