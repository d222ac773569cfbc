// SPDX-License-Identifier: Apache-2.0
import HIDService

extension ConfigurationDecoder {
    func decodeRoute(_ map: MappingReader) {
        map.notAvailable("rollout", "limits")
        let nameValue = map.required("name")
        let name = nameValue?.string()
        if let nameValue, let name { requireName(name, of: "a route", at: nameValue.mark) }
        let matchValue = map.required("match")
        let match = matchValue?.mapping(decodeMatch) ?? nil
        // A rule without name or match is still read, for the rest of its faults.
        var rule = RouteRule(
            name: name ?? "", match: match ?? .init(host: nil, path: .root, methods: []))
        rule.isCritical = map.value("critical")?.bool() ?? false
        rule.mode = map.value("mode")?.word(Mode.self)
        map.value("signature")?.mapping { decodeSignature($0, &rule) }
        map.value("verdicts")?.mapping { decodeVerdicts($0, &rule.verdicts) }
        map.value("on_dependency")?.mapping { decodeDependencies($0, &rule) }
        rule.replay = map.value("replay").flatMap(replay) ?? rule.replay
        rule.stripHeaders = (map.value("strip_headers")?.list() ?? []).compactMap(fieldName)
        rule.block = map.value("block").map { blockAnswer($0, or: configuration.defaults.block) }
        rule.methodsNotListed = map.value("methods_not_listed")?.word(RouteRule.MethodsNotListed.self) ?? .refuse
        rule.upgrades = (map.value("upgrade")?.list() ?? []).compactMap { $0.word(RouteRule.Upgrade.self) }
        rule.allowedSpellings = (map.value("allow")?.list() ?? []).compactMap { $0.word(AllowedSpelling.self) }
        warnAboutAllowance(map, rule)
        if let upstream = map.value("upstream"), let text = upstream.string() {
            rule.upstream = text
            upstreamReferences.append(Reference(name: text, mark: upstream.mark))
        }
        warnAboutKeysWithoutEffect(map, rule)
        guard let nameValue, let matchValue, name != nil, match != nil else { return }
        configuration.routes.append(rule)
        ruleMarks.append(
            RuleMarks(
                name: nameValue.mark, match: matchValue.mark, critical: map.value("critical")?.mark,
                mode: map.value("mode")?.mark))
    }

    private func decodeMatch(_ map: MappingReader) -> RouteRule.Match? {
        let host = map.value("host").flatMap(host)
        let methods = (map.value("methods")?.nonEmptyList() ?? []).compactMap(method)
        guard let value = map.required("path"), let path = pathPattern(value) else { return nil }
        return RouteRule.Match(host: host, path: path, methods: methods)
    }

    private func pathPattern(_ value: ConfigurationValue) -> PathPattern? {
        guard let text = value.string() else { return nil }
        do throws(PathPattern.Fault) {
            return try PathPattern(parsing: text)
        } catch .notAbsolute {
            value.mustBe("a path that starts with '/'")
        } catch {
            value.error("\(error)")
        }
        return nil
    }

    private func host(_ value: ConfigurationValue) -> String? {
        guard let text = value.string() else { return nil }
        let name = text.hasPrefix("*.") ? String(text.dropFirst(2)) : text
        let isAddress = name.hasPrefix("[") && name.hasSuffix("]")
        let isIPv6 = isAddress && IPAddressText.octets(String(name.dropFirst().dropLast())) != nil
        guard HostName.isValid(name) || isIPv6 else {
            value.mustBe("a host name without port, as in api.example.com or *.example.com")
            return nil
        }
        return String(decoding: text.utf8.map(lowered), as: UTF8.self)
    }

    private func method(_ value: ConfigurationValue) -> String? {
        guard let text = value.string() else { return nil }
        let upper = text.utf8.map { (0x61...0x7A).contains($0) ? $0 & 0xDF : $0 }
        let isToken = upper.allSatisfy { (0x41...0x5A).contains($0) || $0 == 0x2D || $0 == 0x5F }
        guard isToken else {
            value.error("method \(text.quoted) must be an upper-case word like GET or POST")
            return nil
        }
        guard upper.elementsEqual(text.utf8) else {
            let right = String(decoding: upper, as: UTF8.self)
            value.error("method \(text.quoted) must be upper case, did you mean \(right.quoted)?")
            return nil
        }
        return text
    }

    private func fieldName(_ value: ConfigurationValue) -> String? {
        guard let text = value.string() else { return nil }
        let marks = Set("!#$%&'*+-.^_`|~".utf8)
        let isToken = text.utf8.allSatisfy { byte in
            switch byte {
            case 0x30...0x39, 0x41...0x5A, 0x61...0x7A: true
            default: marks.contains(byte)
            }
        }
        guard isToken else {
            value.error("\(text.quoted) is not the name of a header field")
            return nil
        }
        return String(decoding: text.utf8.map(lowered), as: UTF8.self)
    }

    private func lowered(_ byte: UInt8) -> UInt8 {
        (0x41...0x5A).contains(byte) ? byte | 0x20 : byte
    }

    // MARK: What a critical route demands

    private func decodeSignature(_ map: MappingReader, _ rule: inout RouteRule) {
        rule.requiresSignature = map.value("required")?.bool() ?? rule.requiresSignature
        guard let versions = map.value("accept")?.nonEmptyList() else { return }
        let words = versions.compactMap { $0.word(SignatureVersion.self) }
        rule.acceptsSignatureV1 = words.contains(.v1)
        rule.acceptsSignatureV2 = words.contains(.v2)
    }

    private func decodeVerdicts(_ map: MappingReader, _ verdicts: inout RouteRule.Verdicts) {
        let action = { (key: String) in map.value(key)?.word(RouteRule.VerdictAction.self) }
        verdicts.human = action("human") ?? verdicts.human
        verdicts.suspicious = action("suspicious") ?? verdicts.suspicious
        verdicts.bot = action("bot") ?? verdicts.bot
        verdicts.blocked = action("blocked") ?? verdicts.blocked
    }

    private func decodeDependencies(_ map: MappingReader, _ rule: inout RouteRule) {
        rule.onJWKSFailure = map.value("jwks")?.word(RouteRule.DependencyPolicy.self) ?? rule.onJWKSFailure
        rule.onReplayFailure = map.value("replay")?.word(RouteRule.DependencyPolicy.self) ?? rule.onReplayFailure
    }

    private func replay(_ value: ConfigurationValue) -> RouteRule.Replay? {
        let what = "once, off or once_with_grace and a duration, as in 'once_with_grace 3s'"
        guard let text = value.scalar(what) else { return nil }
        if text == "once" { return .once }
        if text == "off" { return .off }
        let words = text.split(separator: " ", omittingEmptySubsequences: false)
        guard words.count == 2, words[0] == "once_with_grace", let grace = ScalarText.duration(words[1].utf8) else {
            value.mustBe(what)
            return nil
        }
        guard grace > .zero, grace <= .seconds(60) else {
            value.error("the grace of 'replay' must be more than zero and at most 1m")
            return nil
        }
        return .onceWithGrace(grace)
    }

    /// Only a rule for everything below a path can be certain to hold for a path that is read in different ways.
    private func warnAboutAllowance(_ map: MappingReader, _ rule: RouteRule) {
        guard !rule.allowedSpellings.isEmpty, !rule.match.path.matchesBelow, let mark = map.keyMark("allow") else {
            return
        }
        reporter.warning("'allow' has no effect on a path that does not end in /**", at: mark)
    }

    private func warnAboutKeysWithoutEffect(_ map: MappingReader, _ rule: RouteRule) {
        guard !rule.isCritical else { return }
        for key in ["mode", "signature", "verdicts", "replay", "on_dependency", "block", "methods_not_listed"] {
            guard let mark = map.keyMark(key) else { continue }
            reporter.warning("\(key.quoted) has no effect on a route that is not critical", at: mark)
        }
    }
}

private enum SignatureVersion: String, CaseIterable {
    case v1
    case v2
}
