// SPDX-License-Identifier: Apache-2.0

package import HIDHTTP

/// A request that was read to its end.
package struct WholeRequest: Sendable {
    package var head: RequestHead
    package var content: [UInt8]
    /// The peer as the kernel names it.
    package var peer: PeerAddress
    /// Position of the listener in the configuration.
    package var listener: Int
    /// Monotonic nanoseconds at its first octet.
    package var start: UInt64

    package init(head: RequestHead, content: [UInt8], peer: PeerAddress, listener: Int, start: UInt64 = 0) {
        self.head = head
        self.content = content
        self.peer = peer
        self.listener = listener
        self.start = start
    }
}

/// An answer with all its content.
package struct WholeAnswer: Sendable, Equatable {
    /// A field line besides Content-Type, Content-Length and Connection.
    package struct Field: Sendable, Equatable {
        package var name: StaticString
        /// Octets of a field value; one that is none is left out.
        package var value: [UInt8]

        package init(_ name: StaticString, _ value: String) {
            self.init(name, octets: Array(value.utf8))
        }

        package init(_ name: StaticString, octets value: [UInt8]) {
            self.name = name
            self.value = value
        }

        package static func == (left: Self, right: Self) -> Bool {
            "\(left.name)" == "\(right.name)" && left.value == right.value
        }
    }

    package var status: Int
    package var contentType: String
    package var content: [UInt8]
    package var fields: [Field]

    package init(
        status: Int = 200, contentType: String = "application/json", content: [UInt8] = [], fields: [Field] = []
    ) {
        self.status = status
        self.contentType = contentType
        self.content = content
        self.fields = fields
    }
}

/// What answers whole requests: small content in, small content out, now or later.
package protocol WholeRequestService: AnyObject, Sendable {
    /// Most octets of content that a request may have.
    var contentLimit: Int { get }
    /// Looks at a head before its content is read; an answer ends the exchange. On the loop.
    func refusal(of request: WholeRequest) -> WholeAnswer?
    /// Answers a request, in place or later, once. Called on the loop; must not block.
    func answer(_ request: WholeRequest, reply: @escaping @Sendable (WholeAnswer) -> Void)
    /// The answer to what is no request, or too large a one. On the loop.
    func answer(status: Int, explanation: String) -> WholeAnswer
}

/// One stream of a listener whose requests are answered whole.
///
/// Confined to its loop.
package final class WholeRequestHandler: ServerHandler {
    private let service: any WholeRequestService
    private var content: [UInt8] = []
    private var isAnswered = false
    /// Counts exchanges, so that a late answer cannot reach a later one.
    private var generation = 0

    package init(service: any WholeRequestService) {
        self.service = service
    }

    package func requestBegan(_ stream: ServerStream) {
        generation += 1
        isAnswered = false
        content = []
        if case .length(let length) = stream.request.framing, length > UInt64(service.contentLimit) {
            return send(tooLarge, stream)
        }
        if let refusal = service.refusal(of: request(stream)) { return send(refusal, stream) }
        if case .length(let length) = stream.request.framing { content.reserveCapacity(Int(clamping: length)) }
        if stream.request.expectsContinue { stream.sendInterim(status: 100) }
    }

    package func requestContent(_ stream: ServerStream, _ octets: Span<UInt8>) {
        guard !isAnswered else { return }
        guard content.count + octets.count <= service.contentLimit else { return send(tooLarge, stream) }
        content.append(copying: octets)
    }

    package func requestEnded(_ stream: ServerStream) {
        guard !isAnswered else { return }
        let slot = ReplySlot(handler: self, stream: stream, generation: generation)
        service.answer(request(stream)) { slot.deliver($0) }
    }

    package func requestFailed(_ stream: ServerStream, _ failure: RequestFailure) {
        guard !isAnswered else { return stream.abort() }
        let status =
            switch failure {
            case .head(let fault): fault.status
            case .content(let fault): fault.status
            case .headTimeout, .contentTimeout: 408
            case .overload: 503
            // There is nobody to answer.
            case .http2: 400
            }
        let explanation = status == 503 ? "too many requests wait" : "the request is malformed"
        send(service.answer(status: status, explanation: explanation), stream)
    }

    package func responseDrained(_ stream: ServerStream) {}

    /// What comes next is another request, also when it never becomes one.
    package func responseEnded(_ stream: ServerStream) {
        generation += 1
        isAnswered = false
    }

    package func clientLost(_ stream: ServerStream, _ loss: ClientLoss) {
        generation += 1
    }

    private var tooLarge: WholeAnswer {
        service.answer(status: 413, explanation: "the content is over \(service.contentLimit) octets")
    }

    private func request(_ stream: ServerStream) -> WholeRequest {
        WholeRequest(
            head: stream.request, content: content, peer: stream.peer.address, listener: stream.listener,
            start: stream.requestStart)
    }

    /// Takes an answer that may be late.
    fileprivate func deliver(_ answer: WholeAnswer, _ stream: ServerStream, generation: Int) {
        guard generation == self.generation, !isAnswered else { return }
        send(answer, stream)
    }

    private func send(_ answer: WholeAnswer, _ stream: ServerStream) {
        isAnswered = true
        content = []
        let isHead = stream.request.isMethod("HEAD")
        let length = UInt64(answer.content.count)
        stream.startResponse(status: answer.status, framing: isHead ? .none(announcing: length) : .length(length)) {
            HeadWriter.date(stream.loop.wall / 1_000_000_000, into: &$0)
            if length > 0 { _ = HeadWriter.field("Content-Type", checking: answer.contentType.utf8.span, into: &$0) }
            HeadWriter.field("X-Content-Type-Options", "nosniff", into: &$0)
            for field in answer.fields { _ = HeadWriter.field(field.name, checking: field.value, into: &$0) }
        }
        if !isHead { stream.writeContent(answer.content.span) }
        stream.endResponse()
    }
}

/// Carries an answer to the loop of its stream.
private final class ReplySlot: @unchecked Sendable {
    private let loop: EventLoop
    /// Touched on the loop only.
    private weak var handler: WholeRequestHandler?
    private weak var stream: ServerStream?
    private let generation: Int

    init(handler: WholeRequestHandler, stream: ServerStream, generation: Int) {
        loop = stream.loop
        self.handler = handler
        self.stream = stream
        self.generation = generation
    }

    /// Any thread.
    func deliver(_ answer: WholeAnswer) {
        if loop.isCurrent {
            // Nobody needs to be woken; never in place, since a handler may be in the middle of its request.
            loop.afterEvents { [self] in hand(over: answer) }
        } else {
            loop.enqueue { [self] in hand(over: answer) }
        }
    }

    private func hand(over answer: WholeAnswer) {
        guard let handler, let stream else { return }
        handler.deliver(answer, stream, generation: generation)
    }
}

/// Makes the handlers of a listener.
package final class WholeRequestHandlerFactory: ServerHandlerFactory {
    private let service: any WholeRequestService

    package init(service: any WholeRequestService) {
        self.service = service
    }

    package func makeHandler(loop: EventLoop, listener: Int) -> any ServerHandler {
        WholeRequestHandler(service: service)
    }
}
