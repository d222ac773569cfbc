// SPDX-License-Identifier: Apache-2.0

/// The method of a request as the numbers that a ``MethodTable`` gave to the methods of the rules; -1 for none of them.
struct RequestMethod: Sendable {
    let exact: Int
    /// The same without regard to case: some upstreams take `post` for POST.
    let ignoringCase: Int
}

/// Numbers for all methods that rules list.
struct MethodTable: Sendable {
    /// The values are offsets into `methods`.
    private var exact = ByteTable()
    private var ignoringCase = ByteTable(ignoringCase: true)
    private var methods: [RequestMethod] = []

    func method(_ octets: Span<UInt8>) -> RequestMethod {
        let known = exact.value(of: octets, scope: 0)
        guard known < 0 else { return methods[known] }
        return RequestMethod(exact: -1, ignoringCase: ignoringCase.value(of: octets, scope: 0))
    }

    /// Numbers the methods of a rule.
    mutating func add(_ names: [String]) -> RouteMethods {
        let names = names.contains("GET") ? names + ["HEAD"] : names
        return RouteMethods(numbers: names.map { number(Array($0.utf8)) })
    }

    private mutating func number(_ octets: [UInt8]) -> RequestMethod {
        let number = exact.value(of: octets, scope: 0, inserting: methods.count)
        if number == methods.count {
            let folded = ignoringCase.value(of: octets.map(ASCII.lowercased), scope: 0, inserting: number)
            methods.append(RequestMethod(exact: number, ignoringCase: folded))
        }
        return methods[number]
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
