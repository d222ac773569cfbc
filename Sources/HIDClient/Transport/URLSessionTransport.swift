// SPDX-License-Identifier: Apache-2.0

#if canImport(CryptoKit)
    internal import Foundation
    internal import Security

    /// URLSession without cookies, cache, credentials and redirects.
    final class URLSessionTransport: HumanIDTransport {
        private let session: URLSession

        init(_ config: HumanIDConfig) {
            let settings = URLSessionConfiguration.ephemeral
            settings.httpCookieStorage = nil
            settings.httpShouldSetCookies = false
            settings.urlCache = nil
            settings.urlCredentialStorage = nil
            settings.requestCachePolicy = .reloadIgnoringLocalCacheData
            let seconds = max(Double(config.requestTimeout.inBounds.components.seconds), 1)
            settings.timeoutIntervalForRequest = seconds
            settings.timeoutIntervalForResource = seconds
            session = URLSession(
                configuration: settings, delegate: SessionDelegate(rootsFile: config.certificateAuthorities),
                delegateQueue: nil)
        }

        /// The session keeps its delegate until it is told that it is over.
        deinit { session.finishTasksAndInvalidate() }

        func send(
            _ request: HumanIDTransportRequest
        ) async throws(HumanIDTransportError) -> HumanIDTransportAnswer {
            guard let url = URL(string: request.url) else { throw .network("\(request.url) is no URL") }
            var sent = URLRequest(url: url)
            sent.httpMethod = "POST"
            sent.httpBody = Data(request.body)
            sent.setValue("application/json", forHTTPHeaderField: "Content-Type")
            sent.setValue("application/json", forHTTPHeaderField: "Accept")
            do {
                let (content, response) = try await session.bytes(for: sent)
                guard let answer = response as? HTTPURLResponse else {
                    throw HumanIDTransportError.network("no HTTP answer")
                }
                var body: [UInt8] = []
                for try await byte in content {
                    guard body.count < request.answerLimit else { throw HumanIDTransportError.answerTooLarge }
                    body.append(byte)
                }
                return HumanIDTransportAnswer(
                    status: answer.statusCode, retryAfter: answer.value(forHTTPHeaderField: "Retry-After"), body: body)
            } catch {
                throw Self.fault(error)
            }
        }

        private static func fault(_ error: any Error) -> HumanIDTransportError {
            if let own = error as? HumanIDTransportError { return own }
            if let error = error as? URLError, error.code == .timedOut { return .timeout }
            return .network(error.localizedDescription)
        }
    }

    /// Follows no redirect, and trusts the given roots alone when there are some.
    private final class SessionDelegate: NSObject, URLSessionTaskDelegate, Sendable {
        /// DER certificates; nil: the system's roots, empty after a file that could not be read: none at all.
        private let roots: [Data]?

        init(rootsFile: String?) {
            roots = rootsFile.map { Self.certificates(inPEM: (try? String(contentsOfFile: $0, encoding: .utf8)) ?? "") }
        }

        func urlSession(
            _ session: URLSession, task: URLSessionTask, willPerformHTTPRedirection response: HTTPURLResponse,
            newRequest request: URLRequest, completionHandler: @escaping @Sendable (URLRequest?) -> Void
        ) {
            completionHandler(nil)
        }

        func urlSession(
            _ session: URLSession, didReceive challenge: URLAuthenticationChallenge,
            completionHandler: @escaping @Sendable (URLSession.AuthChallengeDisposition, URLCredential?) -> Void
        ) {
            let space = challenge.protectionSpace
            guard let roots, space.authenticationMethod == NSURLAuthenticationMethodServerTrust else {
                return completionHandler(.performDefaultHandling, nil)
            }
            guard let trust = space.serverTrust, Self.isTrusted(trust, roots: roots) else {
                return completionHandler(.cancelAuthenticationChallenge, nil)
            }
            completionHandler(.useCredential, URLCredential(trust: trust))
        }

        /// The policy of the trust object holds the host name already.
        private static func isTrusted(_ trust: SecTrust, roots: [Data]) -> Bool {
            let anchors = roots.compactMap { SecCertificateCreateWithData(nil, $0 as CFData) }
            guard !anchors.isEmpty, SecTrustSetAnchorCertificates(trust, anchors as CFArray) == errSecSuccess,
                SecTrustSetAnchorCertificatesOnly(trust, true) == errSecSuccess
            else { return false }
            return SecTrustEvaluateWithError(trust, nil)
        }

        private static func certificates(inPEM text: String) -> [Data] {
            text.components(separatedBy: "-----BEGIN CERTIFICATE-----").dropFirst().compactMap { part in
                let body = part.components(separatedBy: "-----END CERTIFICATE-----")
                guard body.count == 2 else { return nil }
                return Data(base64Encoded: body[0], options: .ignoreUnknownCharacters)
            }
        }
    }
#endif
