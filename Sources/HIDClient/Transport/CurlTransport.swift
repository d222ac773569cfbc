// SPDX-License-Identifier: Apache-2.0

#if !canImport(CryptoKit)
    internal import Dispatch
    internal import HIDHTTP

    /// libcurl on threads of its own: its transfers block, and the threads of Swift's tasks must not.
    struct CurlTransport: HumanIDTransport {
        let certificateAuthorities: String?
        private let queue = DispatchQueue(label: "hidgate.client.transport", attributes: .concurrent)

        init(certificateAuthorities: String?) {
            self.certificateAuthorities = certificateAuthorities
        }

        func send(
            _ request: HumanIDTransportRequest
        ) async throws(HumanIDTransportError) -> HumanIDTransportAnswer {
            var transfer = ControlRequest(method: Array("POST".utf8), url: request.url)
            transfer.fields = ["Content-Type: application/json", "Accept: application/json"].map { Array($0.utf8) }
            transfer.body = request.body
            transfer.answerLimit = request.answerLimit
            transfer.timeout = max(request.timeout.inBounds, .milliseconds(1))
            transfer.certificateAuthorities = certificateAuthorities
            let outcome = await withCheckedContinuation { continuation in
                queue.async { [transfer] in continuation.resume(returning: ControlExchange.send(transfer)) }
            }
            switch outcome {
            case .success(let answer):
                let retryAfter = answer.retryAfter.map { String(decoding: $0, as: UTF8.self) }
                return HumanIDTransportAnswer(status: answer.status, retryAfter: retryAfter, body: answer.body)
            case .failure(let fault):
                switch fault.kind {
                case .timeout: throw .timeout
                case .tooLarge: throw .answerTooLarge
                case .other: throw .network(fault.description)
                }
            }
        }
    }
#endif
