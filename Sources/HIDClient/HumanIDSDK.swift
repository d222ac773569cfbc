// SPDX-License-Identifier: Apache-2.0

/// Gets tokens for this device and signs requests with its key.
///
/// Make one and keep it: it holds the current token and the one exchange that all callers share. Any thread and any
/// task may call. Nothing here blocks a thread of the caller.
///
/// ```swift
/// let config = try HumanIDConfig(serverURL: "https://his.example.com", applicationID: "demo-app")
/// let sdk = HumanIDSDK(config: config)
/// let signed = try await sdk.signRequest(
///     method: "POST", authority: "api.example.com", target: "/api/v1/login", body: body)
/// for (name, value) in signed.headers { request.setValue(value, forHTTPHeaderField: name) }
/// ```
public final class HumanIDSDK: Sendable {
    private let keys: any HumanIDKeyHolder
    private let serverTime = ServerTime()
    private let desk: TokenDesk

    /// Makes an SDK with the keys and the network of this platform.
    ///
    /// On Apple platforms that is the Secure Enclave with App Attest, and URLSession. Linux has no hardware keys:
    /// there it is a software key for applications that allow the platform `test`, when the environment names a test
    /// authority (see `SoftwareKeyHolder`), and else every call fails with `unsupported`.
    public convenience init(config: HumanIDConfig) {
        #if canImport(DeviceCheck)
            self.init(config: config, keyHolder: SecureEnclaveKeyHolder(applicationID: config.applicationID))
        #elseif canImport(CryptoKit)
            self.init(
                config: config, keyHolder: AbsentKeyHolder(error: .unsupported("no App Attest on this platform")))
        #else
            self.init(config: config, keyHolder: SoftwareKeyHolder.ofEnvironment())
        #endif
    }

    /// Makes an SDK with given parts.
    ///
    /// - Parameters:
    ///   - config: Server, application, times.
    ///   - keyHolder: Where the device's key lives.
    ///   - transport: Carries the requests; nil: this platform's.
    ///   - clock: Shows and waits for time.
    public convenience init(
        config: HumanIDConfig, keyHolder: any HumanIDKeyHolder, transport: (any HumanIDTransport)? = nil,
        clock: any HumanIDClock = SystemClock()
    ) {
        self.init(config: config, keyHolder: keyHolder, transport: transport, clock: clock) {
            Double.random(in: 0..<1)
        }
    }

    /// Makes an SDK whose delays after failures are not random.
    package init(
        config: HumanIDConfig, keyHolder: any HumanIDKeyHolder, transport: (any HumanIDTransport)?,
        clock: any HumanIDClock, jitter: @escaping @Sendable () -> Double
    ) {
        keys = keyHolder
        let exchange = TokenExchange(
            config: config, keys: keyHolder, transport: transport ?? Self.transport(config), clock: clock,
            serverTime: serverTime)
        desk = TokenDesk(config: config, clock: clock, jitter: jitter) {
            do throws(HumanIDFailure) {
                return .success(try await exchange.run())
            } catch {
                return .failure(error)
            }
        }
    }

    /// Server time minus this device's wall clock; nil before the first answer.
    ///
    /// For diagnostics: nothing in the SDK depends on it.
    public var serverTimeOffset: Duration? { serverTime.offset }

    /// How long calls that need the server fail fast after a failure; nil when the next one will try.
    public var backoffRemaining: Duration? { desk.backoffRemaining }

    /// Gets a token, as it goes into `X-HID-Token`.
    ///
    /// The token that was got before is given again while it has `minimumTokenLife` left and no signature has been
    /// made since. Calls at the same time share one exchange with the server and get the same token; a gateway
    /// accepts it once, so requests that are sent at the same time want
    /// ``signRequest(method:authority:target:body:)``. A token of a refused device is a token as well.
    ///
    /// - Returns: A token with life left.
    /// - Throws: `getTokenFailed` with the reason.
    public func getToken() async throws(HumanIDError) -> HumanIDToken {
        try await token(.shared)
    }

    /// Gets a token ahead of time, so that the next call does not wait for the server.
    ///
    /// - Throws: `getTokenFailed` with the reason; it need not be handled.
    public func prefetchToken() async throws(HumanIDError) {
        _ = try await token(.kept)
    }

    /// Signs the body of a request with the device's key (profile v1), as it goes into `X-HID-Signature`.
    ///
    /// Send it with the token of the last ``getToken()``; the next `getToken` gets a new one. The signature covers
    /// the body alone; prefer ``signRequest(method:authority:target:body:)`` where the route accepts profile v2.
    ///
    /// - Parameter body: The exact octets of the body before any content coding; an empty one is signed too.
    /// - Returns: Standard base64 with padding, of DER.
    /// - Throws: `signRequestBodyFailed` with the reason: `noToken` before the first token, or that of the key.
    public func signRequestBody(_ body: [UInt8]) async throws(HumanIDError) -> String {
        guard let token = desk.spend() else { throw .signRequestBodyFailed(.noToken) }
        return try await sign(body, for: token).v1
    }

    /// Gets a token for one request and signs the whole request with the device's key (profile v2).
    ///
    /// Token and signature come together and fit no other request: the token is one that no other call has been
    /// given. It is got from the server unless ``prefetchToken()`` got one before.
    ///
    /// - Parameters:
    ///   - method: The method as sent, such as `POST`.
    ///   - authority: The host, and the port if it is not the scheme's, as in the Host field.
    ///   - target: Path and query, percent-encoded as they are sent; at least `/`.
    ///   - body: The exact octets of the body before any transfer or content coding.
    /// - Returns: The two fields to send.
    /// - Throws: `getTokenFailed`, or `signRequestBodyFailed` with `invalidRequest` or the reason of the key.
    public func signRequest(
        method: String, authority: String, target: String, body: [UInt8]
    ) async throws(HumanIDError) -> HumanIDSignedHeaders {
        if let fault = RequestBase.fault(method: method, authority: authority, target: target) {
            throw .signRequestBodyFailed(.invalidRequest(fault))
        }
        let token = try await token(.own)
        let base = RequestBase.v2(
            method: Array(method.utf8), authority: Array(authority.utf8), target: Array(target.utf8),
            token: Array(token.value.utf8), body: body)
        return HumanIDSignedHeaders(token: token, signature: try await sign(base, for: token).v2)
    }

    private func token(_ wish: TokenDesk.Wish) async throws(HumanIDError) -> HumanIDToken {
        do {
            return try await desk.token(wish)
        } catch {
            throw .getTokenFailed(error)
        }
    }

    private func sign(_ message: [UInt8], for token: HumanIDToken) async throws(HumanIDError) -> DeviceSignature {
        do throws(HumanIDKeyError) {
            return try DeviceSignature(try await keys.sign(message, with: token.issuedTo))
        } catch {
            desk.forget(token)
            throw .signRequestBodyFailed(.keyUnavailable(error))
        }
    }

    private static func transport(_ config: HumanIDConfig) -> any HumanIDTransport {
        #if canImport(CryptoKit)
            URLSessionTransport(config)
        #else
            CurlTransport(certificateAuthorities: config.certificateAuthorities)
        #endif
    }
}
