// SPDX-License-Identifier: Apache-2.0

/// The method of a request as the numbers that a ``MethodTable`` gave to the methods of the rules; -1 for none of them.
struct RequestMethod: Sendable {
    let exact: Int
    /// The same without regard to case: some upstreams take `post` for POST.
    let ignoringCase: Int
}

/// Numbers for all methods that rules list.
struct MethodTable: Sendable {
    private var exact = ByteTable()
    private var ignoringCase = ByteTable(ignoringCase: true)
    private var count = 0

    func method(_ octets: Span<UInt8>) -> RequestMethod {
        guard !exact.isEmpty else { return RequestMethod(exact: -1, ignoringCase: -1) }
        return RequestMethod(
            exact: exact.value(of: octets, scope: 0), ignoringCase: ignoringCase.value(of: octets, scope: 0))
    }

    /// Numbers the methods of a rule.
    mutating func add(_ methods: [String]) -> RouteMethods {
        var numbers: [RequestMethod] = []
        var names = methods
        if names.contains("GET") { names.append("HEAD") }
        for name in names {
            let octets = Array(name.utf8)
            count += 1
            let number = exact.value(of: octets, scope: 0, inserting: count)
            let folded = ignoringCase.value(of: octets.map(ASCII.lowercased), scope: 0, inserting: count)
            numbers.append(RequestMethod(exact: number, ignoringCase: folded))
        }
        return RouteMethods(numbers: numbers)
    }
}

/// The methods that a rule lists; none means any.
///
/// HEAD is in every list with GET: servers answer HEAD by running the handler of GET.
struct RouteMethods: Sendable {
    let numbers: [RequestMethod]

    var isAny: Bool { numbers.isEmpty }

    /// Whether the rule is about a method; a critical rule is also about its other spellings.
    func contains(_ method: RequestMethod, isCritical: Bool) -> Bool {
        if numbers.isEmpty { return true }
        for number in numbers {
            if method.exact >= 0, number.exact == method.exact { return true }
            if isCritical, method.ignoringCase >= 0, number.ignoringCase == method.ignoringCase { return true }
        }
        return false
    }
}
