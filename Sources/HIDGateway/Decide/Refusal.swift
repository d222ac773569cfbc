// SPDX-License-Identifier: Apache-2.0

internal import HIDVerifier

/// What a reason leads to: PROTOCOL section 5, "Modes" and the statuses above them.
enum Refusal {
    /// Whether a reason stops the request on that route.
    static func refuses(_ reason: Reason, on route: RoutePlan, token: VerifiedToken?) -> Bool {
        switch route.mode {
        case .off, .monitoring: return false
        case .safeBlocking:
            // A suspicious device is no proven wrong.
            if reason == .verdictBlock, token?.isBlocked == false, token?.verdict == .suspicious { return false }
            guard reason.isProven else { return false }
        case .block: break
        }
        if reason == .verdictBlock || reason == .verdictUnknown { return token?.isMonitoring != true }
        return !isOpened(reason, on: route)
    }

    /// Whether the reason is a missing dependency that the route lets requests pass without.
    static func isOpened(_ reason: Reason, on route: RoutePlan) -> Bool {
        switch reason {
        case .keysUnavailable: route.onJWKSFailure == .open
        case .replayFull, .replayStore: route.onReplayFailure == .open
        default: false
        }
    }

    /// The answer for a reason that stops the request.
    static func answer(_ reason: Reason, on route: RoutePlan) -> Answer {
        switch reason {
        case .tokenMultiple, .signatureMultiple: Answer(.reject, .verification(reason), status: 400)
        case .tokenTooLong, .signatureTooLong: Answer(.reject, .verification(reason), status: 431)
        case .bodyTooLarge: Answer(.reject, .verification(reason), status: 413)
        case .keysUnavailable, .replayFull, .replayStore:
            Answer(.error, .verification(reason), status: 503, retryAfter: 1)
        default: Answer(.block, .verification(reason), status: route.block.status, block: route.block)
        }
    }
}
