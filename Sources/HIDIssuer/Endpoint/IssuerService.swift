// SPDX-License-Identifier: Apache-2.0

internal import HIDCrypto
package import HIDDaemon
internal import HIDHTTP
internal import HIDService
internal import HIDStore

/// The endpoints for clients and gateways (PROTOCOL.md section 2).
///
/// Safe from any thread.
package final class IssuerService: WholeRequestService {
    /// What is served, by path.
    enum Endpoint {
        case challenge
        case verify
        case keySet
    }

    let context: IssuerContext
    package let contentLimit = IssuerRequestReader.contentLimit

    package init(context: IssuerContext) {
        self.context = context
    }

    // MARK: - WholeRequestService

    package func refusal(of request: WholeRequest) -> WholeAnswer? {
        guard let endpoint = endpoint(of: request.head) else {
            return plain(status: 404, code: "not_found", message: "there is nothing here")
        }
        switch endpoint {
        case .keySet:
            guard request.head.isMethod("GET") || request.head.isMethod("HEAD") else {
                return plain(
                    status: 405, code: "method_not_allowed", message: "only GET is answered here", allow: "GET, HEAD")
            }
            return nil
        case .challenge, .verify:
            guard request.head.isMethod("POST") else {
                return plain(
                    status: 405, code: "method_not_allowed", message: "only POST is answered here", allow: "POST")
            }
            let client = context.address(of: request).client
            return context.current.limits.client(client, now: context.clock.monotonic()).map {
                let (_, requestID) = context.identify(request)
                context.metrics.count($0)
                return finish($0.answer(requestID: requestID), requestID)
            }
        }
    }

    package func answer(_ request: WholeRequest, reply: @escaping @Sendable (WholeAnswer) -> Void) {
        switch endpoint(of: request.head) {
        case .keySet: reply(keySet())
        case .challenge:
            let call = IssuerCall(context: context, request: request, reply: reply)
            ChallengeFlow(call: call).run(request.content)
        case .verify:
            let call = IssuerCall(context: context, request: request, reply: reply)
            VerifyFlow(call: call).run(request.content)
        case nil: reply(plain(status: 404, code: "not_found", message: "there is nothing here"))
        }
    }

    package func answer(status: Int, explanation: String) -> WholeAnswer {
        let (_, requestID) = context.identify(
            WholeRequest(head: RequestHead(), content: [], peer: .local, listener: -1))
        context.metrics.count(IssuerFailure(.badRequest))
        return finish(IssuerFailure(.badRequest).answer(requestID: requestID, status: status), requestID)
    }

    // MARK: - Answers

    private func endpoint(of head: RequestHead) -> Endpoint? {
        let target = head.bytes.span.extracting(head.target)
        if Octets.equal(target, "/v1/m/hid/c") { return .challenge }
        if Octets.equal(target, "/v1/m/hid/v") { return .verify }
        if Octets.equal(target, "/.well-known/jwks.json") { return .keySet }
        return nil
    }

    private func keySet() -> WholeAnswer {
        WholeAnswer(
            contentType: "application/jwk-set+json", content: context.keys.keySet(at: context.clock.wall()),
            fields: [.init("Cache-Control", "public, max-age=\(SigningKeys.maximumAge)")])
    }

    private func plain(status: Int, code: StaticString, message: String, allow: String? = nil) -> WholeAnswer {
        var answer = WholeAnswer.adminError(status, code, message)
        if let allow { answer.fields.append(.init("Allow", allow)) }
        return answer
    }

    private func finish(_ answer: WholeAnswer, _ requestID: [UInt8]) -> WholeAnswer {
        IssuerCall.finished(answer, requestID)
    }
}

/// One request under way: what it needs to be answered, logged and counted once.
struct IssuerCall: Sendable {
    let context: IssuerContext
    let plan: IssuerPlan
    let client: PeerAddress
    let requestID: [UInt8]
    private let start: UInt64
    private let reply: @Sendable (WholeAnswer) -> Void

    init(context: IssuerContext, request: WholeRequest, reply: @escaping @Sendable (WholeAnswer) -> Void) {
        self.context = context
        plan = context.current
        (client, requestID) = context.identify(request)
        start = context.clock.monotonic()
        self.reply = reply
    }

    var requestIDText: String { String(decoding: requestID, as: UTF8.self) }

    func succeed(_ content: [UInt8]) {
        end(WholeAnswer(content: content))
    }

    func fail(_ failure: IssuerFailure) {
        context.metrics.count(failure)
        if failure.error == .unavailable {
            context.log.error(
                "request.unavailable",
                ["request_id": .string(requestIDText), "fault": .string(failure.detail)])
        }
        end(failure.answer(requestID: requestID))
    }

    private func end(_ answer: WholeAnswer) {
        context.metrics.requestTime.observe(Int(clamping: context.clock.monotonic() &- start))
        reply(Self.finished(answer, requestID))
    }

    private static let noStore = WholeAnswer.Field("Cache-Control", "no-store")

    static func finished(_ answer: WholeAnswer, _ requestID: [UInt8]) -> WholeAnswer {
        var answer = answer
        answer.fields.append(noStore)
        answer.fields.append(.init("X-Request-Id", octets: requestID))
        return answer
    }
}
