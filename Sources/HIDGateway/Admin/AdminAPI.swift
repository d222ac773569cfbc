// SPDX-License-Identifier: Apache-2.0

internal import HIDCrypto
package import HIDHTTP
package import HIDService
package import HIDStore

/// What the admin listener shows.
///
/// Any thread.
package final class AdminAPI: Sendable {
    /// Whether the gateway can do its work, and what is missing if not.
    package struct Readiness: Sendable, Equatable {
        package var isReady: Bool
        package var detail: String

        package init(isReady: Bool, detail: String) {
            self.isReady = isReady
            self.detail = detail
        }
    }

    private let metrics: MetricsRegistry
    private let sessions: any SessionStore
    private let plans: PlanSource
    private let token: [UInt8]?
    private let readiness: @Sendable () -> Readiness

    /// Shows what it is given; over TCP `token` is demanded for /api, nil: nothing is.
    package init(
        metrics: MetricsRegistry, sessions: any SessionStore, plans: PlanSource, token: [UInt8]?,
        readiness: @escaping @Sendable () -> Readiness
    ) {
        self.metrics = metrics
        self.sessions = sessions
        self.plans = plans
        self.token = token
        self.readiness = readiness
    }

    /// Answers one request; `isLocal` when it came over a unix socket.
    func answer(_ request: RequestHead, isLocal: Bool) -> AdminAnswer {
        guard request.isMethod("GET") || request.isMethod("HEAD") else {
            return .error(405, "method_not_allowed", "only GET is answered here")
        }
        guard let admin = AdminRequest(target: request.bytes[request.target]) else {
            return .error(400, "bad_request", "the target is not a path with a query")
        }
        switch admin.path {
        case "/metrics":
            return AdminAnswer(contentType: "text/plain; version=0.0.4; charset=utf-8", body: metrics.text())
        case "/healthz": return AdminAnswer(body: Array("{\"status\":\"ok\"}\n".utf8))
        case "/readyz": return ready()
        default: break
        }
        guard admin.path.hasPrefix("/api/") else { return .error(404, "not_found", "there is nothing here") }
        if let refusal = refuse(request, isLocal: isLocal) { return refusal }
        return api(admin)
    }

    private func ready() -> AdminAnswer {
        let readiness = readiness()
        var line = JSONLineWriter()
        line.begin()
        line.string("status", readiness.isReady ? "ready" : "not_ready")
        line.string("detail", readiness.detail)
        line.end()
        return AdminAnswer(status: readiness.isReady ? 200 : 503, body: line.bytes)
    }

    private static let origin = FieldName("origin")
    private static let authorization = FieldName("authorization")

    /// A unix socket is guarded by its mode.
    ///
    /// Over TCP a bearer token is demanded where one is configured, and a browser that was led here by another site is
    /// refused: it sends Origin, or a Host that is not ours.
    private func refuse(_ request: RequestHead, isLocal: Bool) -> AdminAnswer? {
        guard !isLocal else { return nil }
        guard request.first(Self.origin) == nil, hasPlainHost(request) else {
            return .error(403, "forbidden", "browsers of other sites are not answered")
        }
        guard let token else { return nil }
        let scheme = Array("Bearer ".utf8)
        guard let line = request.first(Self.authorization), request.count(of: Self.authorization) == 1,
            request.bytes[line.value].starts(with: scheme),
            constantTimeEqual(Array(request.bytes[line.value].dropFirst(scheme.count)).span, token.span)
        else { return .error(401, "unauthorized", "a bearer token is needed") }
        return nil
    }

    /// An IP address or `localhost`: a name could have been rebound to us by a hostile resolver.
    private func hasPlainHost(_ request: RequestHead) -> Bool {
        guard let host = request.host else { return true }
        let text = String(decoding: request.bytes[host], as: UTF8.self)
        if text.hasPrefix("[") { return true }
        let name = text.prefix { $0 != ":" }
        return name == "localhost" || PeerAddress(text: Array(name.utf8)) != nil
    }

    private func api(_ request: AdminRequest) -> AdminAnswer {
        let prefix = "/api/sessions/"
        switch request.path {
        case "/api/sessions": return listSessions(request.query)
        case "/api/routes": return listRoutes()
        case let path where path.hasPrefix(prefix):
            guard let session = sessions.session(String(path.dropFirst(prefix.count))) else {
                return .error(404, "not_found", "there is no such session")
            }
            var line = JSONLineWriter()
            line.begin()
            session.write(to: &line)
            line.end()
            return AdminAnswer(body: line.bytes)
        default: return .error(404, "not_found", "there is nothing here")
        }
    }

    private func listSessions(_ parameters: [String: String]) -> AdminAnswer {
        guard let query = SessionQuery(parameters) else {
            return .error(400, "bad_request", "hid, address, since, outcome, limit and cursor are understood")
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
        return AdminAnswer(body: line.bytes)
    }

    private func listRoutes() -> AdminAnswer {
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
        return AdminAnswer(body: line.bytes)
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

/// One connection of the admin listener.
///
/// Confined to the admin loop.
final class AdminHandler: ServerHandler {
    private let api: AdminAPI
    private var isAnswered = false

    init(api: AdminAPI) {
        self.api = api
    }

    func requestBegan(_ connection: ServerConnection) {
        isAnswered = false
        guard connection.request.framing != .none, connection.request.framing != .length(0) else { return }
        send(.error(413, "content_too_large", "no content is taken here"), connection)
    }

    /// Nothing here takes content.
    func requestContent(_ connection: ServerConnection, _ content: Span<UInt8>) {}

    func requestEnded(_ connection: ServerConnection) {
        guard !isAnswered else { return }
        send(api.answer(connection.request, isLocal: connection.peer.isLocal), connection)
    }

    func requestFailed(_ connection: ServerConnection, _ failure: RequestFailure) {
        let status =
            switch failure {
            case .head(let fault): fault.status
            case .content(let fault): fault.status
            case .headTimeout, .contentTimeout: 408
            }
        guard !isAnswered else { return connection.abort() }
        send(.error(status, "bad_request", "the request is malformed"), connection)
    }

    private func send(_ answer: AdminAnswer, _ connection: ServerConnection) {
        isAnswered = true
        let isHead = connection.request.isMethod("HEAD")
        let length = UInt64(answer.body.count)
        connection.startResponse(status: answer.status, framing: isHead ? .none(announcing: length) : .length(length)) {
            HeadWriter.field("Content-Type", answer.contentType, into: &$0)
            HeadWriter.field("Cache-Control", "no-store", into: &$0)
            HeadWriter.field("X-Content-Type-Options", "nosniff", into: &$0)
            if answer.status == 401 { HeadWriter.field("WWW-Authenticate", "Bearer", into: &$0) }
            if answer.status == 405 { HeadWriter.field("Allow", "GET, HEAD", into: &$0) }
        }
        if !isHead { connection.writeContent(answer.body.span) }
        connection.endResponse()
    }

    func responseDrained(_ connection: ServerConnection) {}
    func responseEnded(_ connection: ServerConnection) {}
    func clientLost(_ connection: ServerConnection, _ loss: ClientLoss) {}
}

/// Makes the handlers of the admin listener.
package final class AdminHandlerFactory: ServerHandlerFactory {
    private let api: AdminAPI

    package init(api: AdminAPI) {
        self.api = api
    }

    package func makeHandler(loop: EventLoop, peer: PeerAddress, listener: Int) -> any ServerHandler {
        AdminHandler(api: api)
    }
}
