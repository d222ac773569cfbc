// SPDX-License-Identifier: Apache-2.0

/// A small generator with a fixed seed (SplitMix64), so that a failure comes again.
struct SeededGenerator: RandomNumberGenerator {
    var state: UInt64

    mutating func next() -> UInt64 {
        state &+= 0x9E37_79B9_7F4A_7C15
        var mixed = state
        mixed = (mixed ^ mixed >> 30) &* 0xBF58_476D_1CE4_E5B9
        mixed = (mixed ^ mixed >> 27) &* 0x94D0_49BB_1331_11EB
        return mixed ^ mixed >> 31
    }

    /// A number below a bound, nearly even.
    mutating func below(_ bound: Int) -> Int { Int(truncatingIfNeeded: next() % UInt64(max(1, bound))) }

    mutating func one<Element>(of list: [Element]) -> Element { list[below(list.count)] }
}

/// Makes request-targets that upstreams may read as one of the paths of ``FuzzRule``.
struct PathMutator {
    private static let seeds = [
        "/api/v1/login", "/api/v1/checkout/pay", "/admin", "/admin/users", "/Legacy/Pay", "/users/7/password",
        "/public/x.png", "/public/../admin", "/a/b/../../api/v1/login", "/caf%C3%A9/menu", "/public/..%20/admin",
        "/orders", "/wire", "/transfer/now", "/shops/1/items/2/buy", "/v2/public/x", "/v2/secret", "/files/a/b",
        "/repos/a%2Fb/tree", "/repos/a/secrets/key", "/blobs/a%2Fb", "/files/..;/admin", "/public/a;v=1/b", "/x%252Fy",
        "/list/a;v=1", "/v2/public/a%2Fb", "/a/b%5Cc/d", "/items/1;2/x%3Fy", "/u/a%2Fb/p", "/shops/a%2Fb/items/x",
    ].map { Array($0.utf8) }
    private static let pieces = [
        "/", "//", "/./", "/../", "/..", "..", ".", "/x/../", "%2e", "%2E%2e", "%20", "%20/", "+", ";a=b", "%3B", "%2F",
        "%5C", "\\", "%00", "%09", "?", "#", "%", "%25", ".json", ".json.gz", "...", "/.../", "%EF%BC%8F", "%EF%BC%8E",
        "%E2%80%A4", "%E2%80%A5", "%EF%BC%BC", "%E2%88%95", "%CD%BE", "%EF%BC%9F", "%EF%BC%9B", "%EF%BC%83",
        "%EF%BC%852e", "%E2%80%8B", "%C2%AD", "%C2%A0", "%E3%80%80", "%EF%BC%8F..%EF%BC%8F", "/..%20/", "/.%20./",
        "/%20../", "(S(x))/", "::$DATA", "*", "%C0%AE", "%C3%89", "~", "%2B", "/ADMIN/", "/public/", ";", "/..;/",
        "/;/",
        "/.;/", "..%2F", "%2F..%2F", "..%5c", "%252F", "%252e%252e/", "%25252F", "%3F", "%23", "%2F%2F", "//x/",
        "/\\x/",
        "%253B", "/%2e%2e;x/", "%255C", "{", "|", ";/../", "/files/", "/x%2F", "%2Fx", "a%2Fb", ";x=%2F..%2F", "%2525",
        "%25u002F", "%252573", "%3F/../", "%2E;/", "/v2/public/", "/%3B/", ";.json", "%23.json",
    ].map { Array($0.utf8) }
    private static let lookalikes: [UInt8: [[UInt8]]] = [
        0x6B: ["%E2%84%AA", "%EF%BD%8B"], 0x73: ["%C5%BF", "%EF%BD%93"], 0x69: ["%C4%B1", "%E2%85%B0"],
        0x61: ["%EF%BD%81", "%E2%93%90", "%F0%9D%90%9A"], 0x2F: ["%EF%BC%8F", "%2F", "//", "%252F", "\\", "%5C", ";/"],
        0x6E: ["%F0%9D%95%9F"], 0x31: ["%C2%B9", "%E2%91%A0", "%F0%9D%9F%8F"], 0x2E: ["%2e", "%EF%BC%8E", "%252e"],
        0x6C: ["%E2%84%93"],
    ].mapValues { $0.map { Array($0.utf8) } }
    private static let methods = ["GET", "POST", "PUT", "HEAD"]
    private static let hosts = [
        "api.example.test", "pay.test", "PAY.test:8443", "x.bank.test.", "bank.test", "127.0.0.1", "", "[::1]:8080",
    ]

    private var random: SeededGenerator
    /// Paths that are changed; the first ones are our own.
    private let seeds: [[UInt8]]

    /// Starts from a number and, beside the built-in grammar, from the paths of a corpus of request-targets.
    init(seed: UInt64, corpus: [[UInt8]] = []) {
        random = SeededGenerator(state: seed)
        let paths = corpus.map { Array($0.prefix { $0 != 0x3F }) }
        seeds = Self.seeds + paths.filter { $0.first == 0x2F && $0.count < 256 }
    }

    /// The next request.
    mutating func next() -> FuzzRequest {
        var path = random.one(of: seeds)
        if random.below(4) == 0 { path += random.one(of: seeds) }
        for _ in 0..<random.below(2 + random.below(4)) { change(&path) }
        if path.first != PathSteps.slash { path.insert(PathSteps.slash, at: 0) }
        return FuzzRequest(
            method: random.one(of: Self.methods),
            host: random.below(3) > 0 ? Self.hosts[0] : random.one(of: Self.hosts), target: path)
    }

    private mutating func change(_ path: inout [UInt8]) {
        guard !path.isEmpty else { return path = [PathSteps.slash] }
        let index = random.below(path.count)
        let octet = path[index]
        switch random.below(10) {
        case 0: path.replaceSubrange(index...index, with: Self.encoded(octet))
        case 1: path[index] = octet ^ (octet > 0x40 ? 0x20 : 0)
        case 2, 3:
            if let texts = Self.lookalikes[octet] {
                path.replaceSubrange(index...index, with: random.one(of: texts))
            }
        case 4: path += random.one(of: Self.pieces)
        case 5: path.insert(contentsOf: [PathSteps.slash] + random.one(of: Self.pieces), at: 0)
        case 6:
            // Another level of encoding.
            if octet == 0x25 { path.insert(contentsOf: [0x32, 0x35], at: index + 1) }
        case 7: path.remove(at: index)
        default: path.insert(contentsOf: random.one(of: Self.pieces), at: index)
        }
    }

    private static func encoded(_ octet: UInt8) -> [UInt8] {
        let digits = Array("0123456789abcdef".utf8)
        return [0x25, digits[Int(octet >> 4)], digits[Int(octet & 15)]]
    }
}

/// What a client sends.
struct FuzzRequest {
    var method: String
    var host: String
    /// A path.
    var target: [UInt8]

    /// The site that an upstream takes Host for; nil when it says none.
    var site: String? {
        var name = host.lowercased()
        if let colon = name.lastIndex(of: ":"), name[name.index(after: colon)...].allSatisfy(\.isNumber) {
            name = String(name[..<colon])
        }
        while name.hasSuffix(".") { name.removeLast() }
        let isName = name.contains(where: \.isLetter) && !name.contains("[")
        return isName ? name : nil
    }
}
