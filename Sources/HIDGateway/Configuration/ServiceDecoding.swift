// SPDX-License-Identifier: Apache-2.0
import HIDService

/// The sections that say how the daemon itself runs.
extension ConfigurationDecoder {
    func decodeSessions(_ map: MappingReader) {
        let defaultGroup = "header X-HID-Token -> jwt -> jwt_payload -> property hid"
        if let value = map.value("group_by"), let elements = value.list() {
            let texts = elements.compactMap { $0.string() }
            if texts.count == elements.count, texts != [defaultGroup] {
                value.error("'group_by' other than [\"\(defaultGroup)\"] is not available in this version")
            }
        }
        let sessions = configuration.sessions
        configuration.sessions.idle = map.value("idle")?.duration() ?? sessions.idle
        configuration.sessions.retention = map.value("retention")?.duration() ?? sessions.retention
    }

    func decodeStore(_ map: MappingReader) {
        guard let kind = map.required("kind"), let word = kind.scalar("memory, sqlite or redis") else {
            map.notAvailable("path", "url")
            return
        }
        switch word {
        case "memory": map.notAvailable("path", "url")
        case "sqlite", "redis":
            // One fault is enough for `{ kind: sqlite, path: ... }`.
            _ = (map.value("path"), map.value("url"))
            kind.error("store kind \(word.quoted) is not available in this version")
        default: kind.refuseWord(word, known: ["memory", "sqlite", "redis"])
        }
    }

    func decodeAccessLog(_ map: MappingReader) {
        guard let value = map.required("to"), let text = value.string() else { return }
        switch text {
        case "stderr": configuration.accessLog = .stderr
        case "stdout": configuration.accessLog = .stdout
        case "off": configuration.accessLog = .off
        case let path where path.contains("/"): configuration.accessLog = .file(path: paths.resolved(path))
        default:
            let hint = NearestName.hint(for: text, in: ["stderr", "stdout", "off"])
            value.error("'to' must be stderr, stdout, off or a path with a '/', not \(text.quoted)\(hint)")
        }
    }

    func decodeLimits(_ map: MappingReader) {
        let limits = configuration.limits
        configuration.limits.headerBytes =
            map.value("header_bytes")?.size(in: 1024...(1 << 20)) ?? limits.headerBytes
        configuration.limits.headerFields = map.value("header_fields")?.integer(in: 1...10_000) ?? limits.headerFields
        configuration.limits.signedBody = map.value("signed_body")?.size(in: 0...(1 << 30)) ?? limits.signedBody
        configuration.limits.body = map.value("body")?.size(in: 0...(1 << 50)) ?? limits.body
        configuration.limits.connections =
            map.value("connections")?.integer(in: 1...1_000_000) ?? limits.connections
        configuration.limits.connectionsPerClient =
            map.value("per_client")?.integer(in: 1...1_000_000) ?? limits.connectionsPerClient
        configuration.limits.buffered = map.value("buffered")?.size(in: (1 << 20)...(1 << 40)) ?? limits.buffered
        if let value = map.value("queue_delay"), let delay = value.duration() {
            if delay < .milliseconds(10) || delay > .seconds(60) { value.mustBe("from 10ms to 1m") }
            configuration.limits.queueDelay = delay
        }
        map.value("failed_verifications")?.mapping { failed in
            configuration.limits.failedVerificationsPerClient =
                failed.value("per_client")?.integer(in: 1...1_000_000) ?? limits.failedVerificationsPerClient
            configuration.limits.failedVerifications =
                failed.value("when")?.word(LimitsConfiguration.FailedVerifications.self)
                ?? limits.failedVerifications
        }
    }
}
