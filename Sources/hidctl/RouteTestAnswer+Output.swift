// SPDX-License-Identifier: Apache-2.0

import HIDGateway
import HIDService

extension RouteTestAnswer {
    /// The object of `--json`.
    var json: ControlJSON {
        let demands: ControlJSON = [
            "token": .bool(demandsToken), "signature": .bool(demandsSignature),
            "accept": .array(acceptedProfiles.map { ControlJSON($0) }),
        ]
        return [
            "method": .text(request.method), "target": .text(request.target), "host": .text(request.host),
            "canonical": ControlJSON(optional: canonical), "normalised": .bool(isNormalised),
            "policy": ControlJSON(policy.rawValue), "forwarded": ControlJSON(optional: forwarded),
            "ambiguous": .bool(isUnchanged),
            "fold": ControlJSON(optional: foldKeys.first), "fold_keys": .array(foldKeys.map { .text($0) }),
            "match": ControlJSON(optional: match?.kind.rawValue), "route": ControlJSON(optional: route?.name),
            "mode": ControlJSON(optional: route?.mode.rawValue),
            "critical": route.map { .bool($0.isCritical) } ?? .null, "demands": demands,
            "method_listed": isMethodListed.map { .bool($0) } ?? .null,
            "upstream": ControlJSON(optional: upstream?.name), "refused": refused.map { $0.json } ?? .null,
        ]
    }

    /// The lines for a terminal.
    func print(to outcome: inout ControlOutcome) {
        outcome.row("request", Printable.text(request.method) + " " + Printable.text(request.target))
        outcome.row("host", request.host.isEmpty ? "none (rules of every host may be meant)" : shown(request.host))
        if let canonical { outcome.row("canonical", shown(canonical) + (isNormalised ? " (normalised)" : "")) }
        if isUnchanged, let forwarded {
            outcome.row("unchanged", shown(forwarded) + " (ambiguous, forwarded as it came)")
        }
        for (index, key) in foldKeys.enumerated() { outcome.row(index == 0 ? "fold" : "or", shown(key)) }
        if let match { outcome.row("match", matchText(match)) }
        if let route {
            let name = route.name.map { Printable.text($0) } ?? "none, the defaults apply"
            outcome.row("route", name + (route.isCritical ? " (critical)" : ""))
            outcome.row("mode", route.mode.rawValue)
            outcome.row("demands", demandText(route))
        }
        if let isMethodListed { outcome.row("method", methodText(isMethodListed)) }
        if let upstream { outcome.row("upstream", "\(Printable.text(upstream.name)) at \(upstream.url.text)") }
        guard let refused else { return }
        outcome.row("refused", "\(refused.status) \(refused.code)")
        outcome.row("", refused.explanation)
    }

    private func shown(_ octets: [UInt8]) -> String { Printable.text(octets) }

    private func matchText(_ match: RouteMatch) -> String {
        switch match.kind {
        case .canonical: "canonical: the path that is forwarded is the rule's"
        case .fold: "fold: only a wider reading of path or host touches the rule, so its demands hold"
        case .none: "none"
        }
    }

    private func demandText(_ route: RoutePlan) -> String {
        guard demandsToken else { return route.isCritical ? "nothing, the mode is off" : "nothing" }
        let profiles = acceptedProfiles.joined(separator: " or ")
        let text =
            demandsSignature ? "token and signature (\(profiles))" : "token; a signature is optional (\(profiles))"
        return route.mode == .monitoring ? text + "; failures are only logged" : text
    }

    private func methodText(_ isListed: Bool) -> String {
        let methods = rule?.match.methods ?? []
        if methods.isEmpty { return "any" }
        return "\(shown(request.method)) is \(isListed ? "" : "not ")listed (\(methods.joined(separator: ", ")))"
    }
}

extension RouteTestAnswer.Refused {
    fileprivate var json: ControlJSON {
        ["code": ControlJSON(code), "status": .integer(Int64(status)), "explanation": ControlJSON(explanation)]
    }
}

extension UpstreamURL {
    /// As in the configuration.
    fileprivate var text: String {
        if let unixPath { return "unix:" + Printable.text(unixPath) }
        let name = host.contains(":") ? "[\(host)]" : host
        return "\(isTLS ? "https" : "http")://\(Printable.text(name)):\(port)"
    }
}
