// SPDX-License-Identifier: Apache-2.0

internal import HIDCrypto
package import HIDHTTP
package import HIDService

/// Whether a daemon can do its work, and what is missing if not.
package struct Readiness: Sendable, Equatable {
    package var isReady: Bool
    package var detail: String

    package init(isReady: Bool, detail: String) {
        self.isReady = isReady
        self.detail = detail
    }
}

/// What a daemon shows its operators besides metrics and health.
package protocol AdminResources: AnyObject, Sendable {
    var readiness: Readiness { get }
    /// Answers a request for a path under /api/, in place or later. On the admin loop; must not block.
    func answer(_ request: AdminRequest, reply: @escaping @Sendable (WholeAnswer) -> Void)
}

extension WholeAnswer {
    /// An error of the API for operators.
    package static func adminError(_ status: Int, _ code: StaticString, _ message: String) -> WholeAnswer {
        var line = JSONLineWriter()
        line.begin()
        line.beginObject("error")
        line.constant("code", code)
        line.string("message", message)
        line.endObject()
        line.end()
        return WholeAnswer(status: status, content: line.bytes)
    }
}

/// The admin listener: /metrics, /healthz, /readyz, and the daemon's own resources under /api/.
///
/// Any thread.
package final class AdminSite: WholeRequestService {
    private let metrics: MetricsRegistry
    private let resources: any AdminResources
    private let token: [UInt8]?

    package let contentLimit = 64 << 10

    /// Shows what it is given; over TCP `token` is demanded for /api, nil: nothing is.
    package init(metrics: MetricsRegistry, resources: any AdminResources, token: [UInt8]?) {
        self.metrics = metrics
        self.resources = resources
        self.token = token
    }

    package func refusal(of request: WholeRequest) -> WholeAnswer? {
        let head = request.head
        let isReading = head.isMethod("GET") || head.isMethod("HEAD")
        guard isReading || head.isMethod("POST") || head.isMethod("DELETE") else {
            var answer = WholeAnswer.adminError(405, "method_not_allowed", "this method is not answered here")
            if head.bytes[head.target].starts(with: Array("/api/".utf8)) {
                answer.fields.append(.init("Allow", "GET, HEAD, POST, DELETE"))
            }
            return finish(answer)
        }
        guard let path = AdminRequest(method: "", target: head.bytes[head.target])?.path else {
            return finish(.adminError(400, "bad_request", "the target is not a path with a query"))
        }
        if isReading, head.framing != .none, head.framing != .length(0) {
            return finish(.adminError(413, "content_too_large", "no content is taken here"))
        }
        guard path.hasPrefix("/api/") else {
            return isReading ? nil : finish(.adminError(405, "method_not_allowed", "only GET is answered here"))
        }
        return apiRefusal(request).map(finish)
    }

    package func answer(_ request: WholeRequest, reply: @escaping @Sendable (WholeAnswer) -> Void) {
        let head = request.head
        let method = String(decoding: head.bytes[head.method], as: UTF8.self)
        guard
            let admin = AdminRequest(
                method: method == "HEAD" ? "GET" : method, target: head.bytes[head.target], content: request.content)
        else { return reply(finish(.adminError(400, "bad_request", "the target is not a path with a query"))) }
        switch admin.path {
        case "/metrics":
            reply(finish(WholeAnswer(contentType: MetricsRegistry.contentType, content: metrics.text())))
        case "/healthz": reply(finish(WholeAnswer(content: Array("{\"status\":\"ok\"}\n".utf8))))
        case "/readyz": reply(finish(ready()))
        case let path where path.hasPrefix("/api/"):
            resources.answer(admin) { [self] in reply(finish($0)) }
        default: reply(finish(.adminError(404, "not_found", "there is nothing here")))
        }
    }

    package func answer(status: Int, explanation: String) -> WholeAnswer {
        finish(.adminError(status, status == 413 ? "content_too_large" : "bad_request", explanation))
    }

    private func ready() -> WholeAnswer {
        let readiness = resources.readiness
        var line = JSONLineWriter()
        line.begin()
        line.string("status", readiness.isReady ? "ready" : "not_ready")
        line.string("detail", readiness.detail)
        line.end()
        return WholeAnswer(status: readiness.isReady ? 200 : 503, content: line.bytes)
    }

    /// Nothing here may be kept by a cache.
    private func finish(_ answer: WholeAnswer) -> WholeAnswer {
        var answer = answer
        answer.fields.append(.init("Cache-Control", "no-store"))
        if answer.status == 401 { answer.fields.append(.init("WWW-Authenticate", "Bearer")) }
        if answer.status == 405, !answer.fields.contains(where: { "\($0.name)" == "Allow" }) {
            answer.fields.append(.init("Allow", "GET, HEAD"))
        }
        return answer
    }

    private static let origin = FieldName("origin")
    private static let authorization = FieldName("authorization")

    /// A unix socket is guarded by its mode.
    ///
    /// Over TCP a bearer token is demanded where one is configured, and a browser that was led here by another site is
    /// refused: it sends Origin, or a Host that is not ours.
    private func apiRefusal(_ request: WholeRequest) -> WholeAnswer? {
        let head = request.head
        guard !request.peer.isLocal else { return nil }
        guard head.first(Self.origin) == nil, hasPlainHost(head) else {
            return .adminError(403, "forbidden", "browsers of other sites are not answered")
        }
        guard let token else { return nil }
        let scheme = Array("Bearer ".utf8)
        guard let line = head.first(Self.authorization), head.count(of: Self.authorization) == 1,
            head.bytes[line.value].starts(with: scheme),
            constantTimeEqual(Array(head.bytes[line.value].dropFirst(scheme.count)).span, token.span)
        else { return .adminError(401, "unauthorized", "a bearer token is needed") }
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
}

extension AdminSite {
    /// Opens the listener of the configuration on a loop of its own; the address with the port that was really bound.
    package static func open(
        _ admin: AdminConfiguration, metrics: MetricsRegistry, resources: any AdminResources,
        settings: ServerSettings, sockets: ServiceSockets
    ) throws(StartError) -> (lane: Lane, address: String?) {
        let site = AdminSite(metrics: metrics, resources: resources, token: try readToken(admin))
        let bound = try BoundListeners([admin.address], loops: 1, sockets: sockets)
        let loop: EventLoop
        do throws(SystemCallError) {
            loop = try EventLoop(index: 0, label: "hidgate.admin")
        } catch {
            throw .startup("\(error)")
        }
        let group = ConnectionGroup(
            loop: loop, settings: settings, budget: ConnectionBudget(limit: 256, limitPerClient: 256),
            factory: WholeRequestHandlerFactory(service: site))
        let lane = Lane(group: group)
        lane.open(bound.sockets[0])
        return (lane, bound.names.first)
    }

    private static func readToken(_ admin: AdminConfiguration) throws(StartError) -> [UInt8]? {
        guard let path = admin.tokenFile else { return nil }
        let bytes: [UInt8]
        do throws(SystemFault) {
            bytes = try FileSystem.contents(of: path, limit: 4096)
        } catch {
            throw .configuration("\(path): \(error)")
        }
        let token = Array(bytes.reversed().drop { $0 <= 0x20 }.reversed())
        guard token.count >= 16 else {
            throw .configuration("\(path): the admin token must have at least 16 octets")
        }
        return token
    }
}

extension ServerSettings {
    /// The settings of a listener whose requests are small.
    package init(timeouts: TimeoutsConfiguration, limits: HeadLimits) {
        self.init(
            limits: limits, headerTimeout: timeouts.header, bodyIdleTimeout: timeouts.bodyIdle,
            keepAliveTimeout: timeouts.keepAlive, writeTimeout: timeouts.write)
    }
}
