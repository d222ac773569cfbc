// SPDX-License-Identifier: Apache-2.0

internal import HIDCrypto
package import HIDDaemon
internal import HIDService
internal import HIDStore

/// What the issuer shows its operators, and what they may change.
///
/// Any thread.
package final class IssuerResources: AdminResources {
    private let context: IssuerContext
    private let health: StoreHealth
    private typealias Reply = @Sendable (WholeAnswer) -> Void

    package init(context: IssuerContext, health: StoreHealth) {
        self.context = context
        self.health = health
    }

    package var readiness: Readiness {
        if let fault = health.fault { return Readiness(isReady: false, detail: "store: \(fault)") }
        let now = context.clock.wall()
        guard !context.keys.published(at: now).isEmpty else {
            return Readiness(isReady: false, detail: "no signing key")
        }
        let configuration = context.current.configuration
        if let list = context.revocations, list.isStale(at: now),
            configuration.attestation.revocationList?.whenStale == .closed,
            configuration.apps.values.contains(where: { $0.android != nil })
        {
            let fault = list.status.fault ?? "not loaded yet"
            return Readiness(isReady: false, detail: "no fresh revocation list: \(fault)")
        }
        return Readiness(isReady: true, detail: "store, keys and lists are in order")
    }

    package func answer(_ request: AdminRequest, reply: @escaping @Sendable (WholeAnswer) -> Void) {
        let parts = request.path.split(separator: "/").dropFirst().map(String.init)
        switch (request.method, parts.first, parts.count) {
        case ("GET", "keys", 1): reply(listKeys())
        case ("POST", "keys", 2) where parts[1] == "rotate": reply(rotate(request))
        case ("GET", "devices", 2): showDevice(parts[1], reply)
        case ("GET", "events", 1): listEvents(request, reply)
        case ("GET", "denylist", 1): listDenials(history: request.query["history"] == "true", reply)
        case ("POST", "denylist", 1): deny(request, reply)
        case ("DELETE", "denylist", 2): allow(parts[1], request, reply)
        case (_, "keys", _), (_, "devices", _), (_, "events", _), (_, "denylist", _):
            reply(.adminError(405, "method_not_allowed", "this cannot be done here"))
        default: reply(.adminError(404, "not_found", "there is nothing here"))
        }
    }

    // MARK: - Keys

    private func listKeys() -> WholeAnswer {
        let now = context.clock.wall()
        let current = context.keys.current(at: now)?.kid
        return object { line in
            line.beginArray("keys")
            for key in context.keys.published(at: now) {
                line.beginElement()
                line.string("kid", key.kid)
                line.constant("state", key.kid == current ? "signing" : key.retires == nil ? "next" : "retiring")
                line.time("published", millisecondsSince1970: key.published &* 1000)
                if let moment = key.activates {
                    line.time("activates", millisecondsSince1970: moment &* 1000)
                } else {
                    line.null("activates")
                }
                if let moment = key.retires {
                    line.time("retires", millisecondsSince1970: moment &* 1000)
                } else {
                    line.null("retires")
                }
                line.endObject()
            }
            line.endArray()
        }
    }

    private func rotate(_ request: AdminRequest) -> WholeAnswer {
        var overlap = SigningKeys.defaultOverlap
        // Nothing at all is a wish; anything that cannot be read is none.
        if !request.content.isEmpty {
            guard let body = AdminBody(request.content) else {
                return .adminError(400, "bad_request", "the content must be a JSON object")
            }
            if body.has("overlap") {
                guard let duration = body.text("overlap").flatMap({ ScalarText.duration($0.utf8) }) else {
                    return .adminError(400, "bad_request", "overlap must be a duration like 10m")
                }
                overlap = duration.components.seconds
            }
        }
        do throws(KeyDirectoryFault) {
            let rotation = try context.keys.rotate(overlap: overlap, now: context.clock.wall())
            return object { line in
                line.string("kid", rotation.kid)
                line.time("activates", millisecondsSince1970: rotation.activates &* 1000)
                line.string("previous", rotation.previous ?? "")
            }
        } catch {
            return .adminError(409, "keys_not_rotated", error.description)
        }
    }

    // MARK: - Devices

    private func showDevice(_ hid: String, _ reply: @escaping Reply) {
        context.store.device(hid) { [self] result in
            switch result {
            case .failure(let fault): reply(unavailable(fault))
            case .success(nil): reply(.adminError(404, "not_found", "there is no such device"))
            case .success(let device?): reply(object { $0.device(device) })
            }
        }
    }

    private func listEvents(_ request: AdminRequest, _ reply: @escaping Reply) {
        let limit = request.query["limit"].map { ScalarText.integer($0.utf8) } ?? 100
        guard let limit, (1...1000).contains(limit) else {
            return reply(.adminError(400, "bad_request", "limit must be from 1 to 1000"))
        }
        context.store.events(hid: request.query["hid"], limit: limit) { [self] result in
            switch result {
            case .failure(let fault): reply(unavailable(fault))
            case .success(let events):
                reply(
                    object { line in
                        line.beginArray("events")
                        for event in events { line.event(event) }
                        line.endArray()
                    })
            }
        }
    }

    // MARK: - Denials

    private func listDenials(history: Bool, _ reply: @escaping Reply) {
        context.store.denials(history: history, now: context.clock.wall()) { [self] result in
            switch result {
            case .failure(let fault): reply(unavailable(fault))
            case .success(let denials):
                reply(
                    object { line in
                        line.beginArray("denylist")
                        for denial in denials { line.denial(denial) }
                        line.endArray()
                    })
            }
        }
    }

    private func deny(_ request: AdminRequest, _ reply: @escaping Reply) {
        guard let body = AdminBody(request.content), let hid = body.text("hid"), let reason = body.text("reason"),
            !reason.isEmpty, let term = body.text("for")
        else { return reply(.adminError(400, "bad_request", "hid, for and reason are needed")) }
        let now = context.clock.wall()
        var until: Int64?
        if term != "forever" {
            guard let duration = ScalarText.duration(term.utf8) else {
                return reply(.adminError(400, "bad_request", "for must be a duration like 1h, or forever"))
            }
            until = now &+ max(1, duration.components.seconds)
        }
        let denial = Denial(hid: hid, until: until, reason: reason, by: body.text("by") ?? "operator", created: now)
        context.store.device(hid) { [self] result in
            switch result {
            case .failure(let fault): reply(unavailable(fault))
            case .success(nil): reply(.adminError(404, "not_found", "there is no such device"))
            case .success(let device?): write(denial, device, reply)
            }
        }
    }

    private func write(_ denial: Denial, _ device: DeviceRecord, _ reply: @escaping Reply) {
        context.store.deny(denial) { [self] result in
            switch result {
            case .failure(let fault): reply(unavailable(fault))
            case .success:
                note("denied", denial.hid, device, reason: denial.reason)
                reply(object { $0.denialMembers(denial) })
            }
        }
    }

    private func allow(_ hid: String, _ request: AdminRequest, _ reply: @escaping Reply) {
        let body = AdminBody(request.content)
        guard let reason = body?.text("reason") ?? request.query["reason"], !reason.isEmpty else {
            return reply(.adminError(400, "bad_request", "a reason is needed"))
        }
        context.store.allow(hid, reason: reason, now: context.clock.wall()) { [self] result in
            switch result {
            case .failure(let fault): reply(unavailable(fault))
            case .success(false): reply(.adminError(404, "not_found", "nothing is in force against this device"))
            case .success(true):
                note("allowed", hid, nil, reason: reason)
                reply(object { $0.string("hid", hid) })
            }
        }
    }

    private func note(_ kind: String, _ hid: String, _ device: DeviceRecord?, reason: String) {
        context.log.info("device.\(kind)", hid: hid, reason: reason)
        context.store.record(
            RegistryEvent(
                time: context.clock.wall(), kind: kind, appID: device?.appID ?? "", deviceID: device?.deviceID ?? "",
                platform: device?.platform ?? "", hid: hid, reason: reason))
    }

    private func unavailable(_ fault: StoreFault) -> WholeAnswer {
        .adminError(503, "unavailable", fault.description)
    }

    private func object(_ body: (inout JSONLineWriter) -> Void) -> WholeAnswer {
        var line = JSONLineWriter()
        line.begin()
        body(&line)
        line.end()
        return WholeAnswer(content: line.bytes)
    }
}

/// The JSON object of an operator's request.
private struct AdminBody {
    private let document: StrictJSON

    init?(_ content: [UInt8]) {
        guard !content.isEmpty, let document = try? StrictJSON(content), document.kind(document.root) == .object else {
            return nil
        }
        self.document = document
    }

    func has(_ name: StaticString) -> Bool { document.member(name, of: document.root) != nil }

    func text(_ name: StaticString) -> String? {
        document.member(name, of: document.root).flatMap { document.textBytes($0) }
            .map { String(decoding: $0, as: UTF8.self) }
    }
}

extension Log {
    /// An operator's decision about a device.
    fileprivate func info(_ event: String, hid: String, reason: String) {
        let fields: Fields = ["hid": .string(String(hid.prefix(8))), "reason": .string(reason)]
        event == "device.denied" ? info("device.denied", fields) : info("device.allowed", fields)
    }
}

extension JSONLineWriter {
    fileprivate mutating func device(_ device: DeviceRecord) {
        string("hid", device.hid)
        string("app_id", device.appID)
        string("device_id", device.deviceID)
        string("platform", device.platform)
        string("level", device.level)
        string("environment", device.environment)
        string("tier", device.tier)
        if let reason = device.blocked { string("blocked", reason) } else { null("blocked") }
        if let batch = device.batchID { string("batch_id", batch) } else { null("batch_id") }
        string("facts", device.facts)
        time("registered", millisecondsSince1970: device.registered &* 1000)
        if let moment = device.retired {
            time("retired", millisecondsSince1970: moment &* 1000)
        } else {
            null("retired")
        }
    }

    fileprivate mutating func event(_ event: RegistryEvent) {
        beginElement()
        time("time", millisecondsSince1970: event.time &* 1000)
        string("kind", event.kind)
        string("app_id", event.appID)
        string("device_id", event.deviceID)
        string("platform", event.platform)
        if let hid = event.hid { string("hid", hid) } else { null("hid") }
        if let reason = event.reason { string("reason", reason) } else { null("reason") }
        if let id = event.requestID { string("request_id", id) } else { null("request_id") }
        endObject()
    }

    fileprivate mutating func denial(_ denial: Denial) {
        beginElement()
        denialMembers(denial)
        endObject()
    }

    fileprivate mutating func denialMembers(_ denial: Denial) {
        string("hid", denial.hid)
        if let until = denial.until { time("until", millisecondsSince1970: until &* 1000) } else { null("until") }
        string("reason", denial.reason)
        string("by", denial.by)
        time("created", millisecondsSince1970: denial.created &* 1000)
        if let moment = denial.lifted { time("lifted", millisecondsSince1970: moment &* 1000) } else { null("lifted") }
    }
}
