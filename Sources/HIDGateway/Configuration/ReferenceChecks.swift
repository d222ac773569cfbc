// SPDX-License-Identifier: Apache-2.0
import HIDService

/// Checks over more than one section or file.
extension ConfigurationDecoder {
    func checkReferences() {
        checkUpstreamNames()
        checkDuplicateRoutes()
        checkCriticalRoutes()
        checkHosts()
    }

    private func checkUpstreamNames() {
        guard knowsUpstreams else { return }
        let known = configuration.upstreams.keys.sorted()
        for reference in upstreamReferences where configuration.upstreams[reference.name] == nil {
            let hint = NearestName.hint(for: reference.name, in: known)
            reporter.error("unknown upstream \(reference.name.quoted)\(hint)", at: reference.mark)
        }
    }

    private func checkDuplicateRoutes() {
        var byName: [String: Mark] = [:]
        var byPath: [String: [Int]] = [:]
        for (index, (rule, marks)) in zip(configuration.routes, ruleMarks).enumerated() {
            if let first = byName[rule.name] {
                reporter.error(
                    "duplicate route \(rule.name.quoted), first at \(first.file):\(first.line)", at: marks.name)
            } else {
                byName[rule.name] = marks.name
            }
            let others = byPath[rule.match.path.text, default: []]
            byPath[rule.match.path.text, default: []].append(index)
            guard let twin = others.first(where: { rule.match.isAmbiguous(with: configuration.routes[$0].match) })
            else { continue }
            let place = ruleMarks[twin].match
            reporter.error(
                "matches the same requests as route \(configuration.routes[twin].name.quoted)"
                    + " at \(place.file):\(place.line)", at: marks.match)
        }
    }

    private func checkCriticalRoutes() {
        for (rule, marks) in zip(configuration.routes, ruleMarks) where rule.isCritical {
            let mark = marks.critical ?? marks.name
            if configuration.issuers.isEmpty, lacksIssuers {
                reporter.error("route \(rule.name.quoted) is critical, but 'issuers' is empty", at: mark)
            }
            if (rule.mode ?? configuration.defaults.mode) == .off {
                reporter.warning(
                    "route \(rule.name.quoted) is critical, but nothing is checked in mode 'off'",
                    at: marks.mode ?? mark)
            }
        }
    }

    /// Most upstreams answer whatever Host says: a rule for one host is then led around by another name.
    private func checkHosts() {
        let standard = configuration.defaults.upstream
        for (rule, marks) in zip(configuration.routes, ruleMarks) where rule.isCritical {
            guard let host = rule.match.host, rule.upstream ?? standard == standard else { continue }
            let isCovered = configuration.routes.contains { other in
                other.match.host == nil && other.isCritical && other.match.path == rule.match.path
            }
            guard !isCovered else { continue }
            reporter.warning(
                "route \(rule.name.quoted) is critical for host \(host.quoted) only: with another Host the same path"
                    + " reaches upstream \(standard.quoted) unchecked; leave 'host' out unless it refuses other hosts",
                at: marks.match)
        }
    }
}

extension RouteRule.Match {
    /// Whether some request matches both and neither is more specific.
    func isAmbiguous(with other: RouteRule.Match) -> Bool {
        guard host == other.host, methods.isEmpty == other.methods.isEmpty else { return false }
        return methods.isEmpty || !Set(methods).isDisjoint(with: other.methods)
    }
}
