// SPDX-License-Identifier: Apache-2.0

import Dispatch
import HIDClient
import HIDCrypto
import HIDService
import HIDVerifier
import Synchronization

/// A phone that gets its tokens from a Human Identification Server, by the whole flow of the SDK.
struct ServerDevice {
    private let sdk: HumanIDSDK

    /// Makes the SDK of a device whose key a test authority vouches for.
    init(_ options: SimulationOptions, _ server: SimulationOptions.Server) throws(VerbError) {
        let pem = try ControlFile.contents(server.authorityKey, limit: 64 << 10)
        let config: HumanIDConfig
        do throws(HumanIDConfigError) {
            var made = try HumanIDConfig(
                serverURL: server.url, applicationID: String(decoding: options.audience, as: UTF8.self),
                deviceID: server.deviceID)
            made.certificateAuthorities = server.certificateAuthorities
            config = made
        } catch {
            throw .usage("--his or --audience: \(error)")
        }
        var claims: [String: HumanIDClaim] = ["level": .text(String(decoding: options.level, as: UTF8.self))]
        if options.verdict == .blocked { claims["locked"] = .flag(false) }
        do throws(HumanIDKeyError) {
            let keys = try SoftwareKeyHolder(authorityKey: pem, claims: claims, file: server.deviceKey)
            sdk = HumanIDSDK(config: config, keyHolder: keys)
        } catch {
            throw .failure("\(error)")
        }
    }

    /// Token and signature for the request of the options.
    func sign(_ options: SimulationOptions) -> Result<SignedParts, HumanIDError> {
        let (sdk, request, body) = (sdk, options.request, options.body)
        let (profile, signs) = (options.profile, options.sendsSignature && options.url != nil)
        return Waiting.result { () async throws(HumanIDError) -> SignedParts in
            guard signs else { return SignedParts(try await sdk.getToken(), nil) }
            guard profile == .v2 else {
                let token = try await sdk.getToken()
                return SignedParts(token, try await sdk.signRequestBody(body))
            }
            let headers = try await sdk.signRequest(
                method: String(decoding: request.method, as: UTF8.self),
                authority: String(decoding: request.authority, as: UTF8.self),
                target: String(decoding: request.target, as: UTF8.self), body: body)
            return SignedParts(headers.token, headers.signature)
        }
    }
}

/// What goes into the HID header fields of one request.
struct SignedParts: Sendable {
    var token: [UInt8]?
    var signature: [UInt8]?
    var hid: [UInt8]
    /// What the token of a server says; nil for one that was made here.
    var verdict: String?

    init(token: [UInt8]?, signature: [UInt8]?, hid: [UInt8]) {
        (self.token, self.signature, self.hid) = (token, signature, hid)
    }

    init(_ token: HumanIDToken, _ signature: String?) {
        self.init(
            token: Array(token.value.utf8), signature: signature.map { Array($0.utf8) },
            hid: Array((token.hid ?? "").utf8))
        verdict = token.verdict ?? "unreadable"
    }
}

/// Waits for asynchronous work; for the one thread of a tool.
private enum Waiting {
    static func result<Success: Sendable>(
        _ work: @escaping @Sendable () async throws(HumanIDError) -> Success
    ) -> Result<Success, HumanIDError> {
        let box = ResultBox<Success>()
        let done = DispatchSemaphore(value: 0)
        Task.detached {
            do throws(HumanIDError) {
                let value = try await work()
                box.value.withLock { $0 = .success(value) }
            } catch {
                box.value.withLock { $0 = .failure(error) }
            }
            done.signal()
        }
        done.wait()
        return box.value.withLock { $0 } ?? .failure(.unknownError("no result"))
    }
}

private final class ResultBox<Success: Sendable>: Sendable {
    let value = Mutex<Result<Success, HumanIDError>?>(nil)
}
