// SPDX-License-Identifier: Apache-2.0

internal import HIDCrypto
package import HIDDaemon
internal import HIDHTTP
internal import HIDService
package import HIDStore

/// What the gateway shows its operators.
///
/// Any thread.
package final class GatewayResources: AdminResources {
    private let sessions: any SessionStore
    private let plans: PlanSource
    private let currentReadiness: @Sendable () -> Readiness

    /// Shows what it is given.
    package init(
        sessions: any SessionStore, plans: PlanSource, readiness: @escaping @Sendable () -> Readiness
    ) {
        self.sessions = sessions
        self.plans = plans
        currentReadiness = readiness
    }

    package var readiness: Readiness { currentReadiness() }

    package func answer(_ request: AdminRequest, reply: @escaping @Sendable (WholeAnswer) -> Void) {
        reply(api(request))
    }

    private func api(_ request: AdminRequest) -> WholeAnswer {
        guard request.method == "GET" else {
            return .adminError(405, "method_not_allowed", "only GET is answered here")
        }
        let prefix = "/api/sessions/"
        switch request.path {
        case "/api/sessions": return listSessions(request.query)
        case "/api/routes": return listRoutes()
        case let path where path.hasPrefix(prefix):
            guard let session = sessions.session(String(path.dropFirst(prefix.count))) else {
                return .adminError(404, "not_found", "there is no such session")
            }
            var line = JSONLineWriter()
            line.begin()
            session.write(to: &line)
            line.end()
            return WholeAnswer(content: line.bytes)
        default: return .adminError(404, "not_found", "there is nothing here")
        }
    }

    private func listSessions(_ parameters: [String: String]) -> WholeAnswer {
        guard let query = SessionQuery(parameters) else {
            return .adminError(400, "bad_request", "hid, address, since, outcome, limit and cursor are understood")
        }
        let (page, next) = sessions.list(query)
        var line = JSONLineWriter(capacity: 512 * (page.count + 1))
        line.begin()
        line.beginArray("sessions")
        for session in page {
            line.beginElement()
            session.write(to: &line)
            line.endObject()
        }
        line.endArray()
        if let next { line.string("next", "\(next.lastSeen).\(next.id)") } else { line.null("next") }
        line.end()
        return WholeAnswer(content: line.bytes)
    }

    private func listRoutes() -> WholeAnswer {
        let plan = plans.current
        var line = JSONLineWriter()
        line.begin()
        line.beginArray("routes")
        for (rule, route) in zip(plan.configuration.routes, plan.routes) {
            line.beginElement()
            line.string("name", rule.name)
            if let host = rule.match.host { line.string("host", host) } else { line.null("host") }
            line.string("path", rule.match.path.text)
            line.beginArray("methods")
            for method in rule.match.methods { line.element(Array(method.utf8)) }
            line.endArray()
            line.bool("critical", route.isCritical)
            line.string("mode", route.mode.rawValue)
            line.string("upstream", plan.upstreams[route.upstream].name)
            line.endObject()
        }
        line.endArray()
        line.end()
        return WholeAnswer(content: line.bytes)
    }
}

extension SessionQuery {
    /// Reads the parameters of `GET /api/sessions`; nil when one is unknown or malformed.
    init?(_ parameters: [String: String]) {
        self.init()
        for (name, value) in parameters {
            switch name {
            case "hid": hid = value
            case "address": address = value
            case "since":
                guard let moment = Self.moment(value) else { return nil }
                since = moment
            case "outcome":
                guard let outcome = SessionOutcome(rawValue: value) else { return nil }
                self.outcome = outcome
            case "limit":
                guard let number = StrictInteger.parse(Array(value.utf8).span), (1...1000).contains(number) else {
                    return nil
                }
                limit = Int(number)
            case "cursor":
                let parts = value.split(separator: ".")
                guard parts.count == 2, let lastSeen = Int64(parts[0]) else { return nil }
                cursor = SessionCursor(lastSeen: lastSeen, id: String(parts[1]))
            default: return nil
            }
        }
    }

    /// Seconds since 1970, or how long ago: `15m`, `24h`, `7d`.
    private static func moment(_ text: String) -> Int64? {
        let bytes = Array(text.utf8)
        if let seconds = StrictInteger.parse(bytes.span), seconds < 1 << 33 { return Int64(seconds) * 1_000_000_000 }
        guard let ago = ScalarText.duration(bytes) else { return nil }
        return WallClock.now() &- Int64(clamping: ago.nanoseconds)
    }
}

extension Session {
    /// Appends the members of the session to an open object.
    func write(to line: inout JSONLineWriter) {
        line.string("id", id)
        line.string("key", key)
        line.string("hid", hid)
        line.time("first_seen", millisecondsSince1970: firstSeen / 1_000_000)
        line.time("last_seen", millisecondsSince1970: lastSeen / 1_000_000)
        line.integer("requests", requests)
        line.integer("passed", passed)
        line.integer("blocked", blocked)
        line.integer("would_block", wouldBlock)
        line.beginArray("addresses")
        for address in addresses { line.element(Array(address.utf8)) }
        line.endArray()
        line.null("denied")
    }
}
