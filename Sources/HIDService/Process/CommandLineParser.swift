// SPDX-License-Identifier: Apache-2.0

/// Why a command line is refused; one line for stderr, without the name of the program.
package struct UsageError: Error, Sendable, Equatable, CustomStringConvertible {
    package var description: String

    package init(_ description: String) {
        self.description = description
    }
}

/// What a command line said.
package struct ParsedArguments: Sendable, Equatable {
    /// The full name of the verb (`token inspect`); nil for a program without verbs.
    package var verb: String?
    package var positionals: [String] = []
    /// In the order given, by names without dashes.
    private(set) var values: [String: [String]] = [:]
    private(set) var flags: Set<String> = []

    /// The last value of an option.
    package func value(_ name: String) -> String? { values[name]?.last }
    /// All values of an option that may be repeated.
    package func allValues(_ name: String) -> [String] { values[name] ?? [] }
    package func has(_ flag: String) -> Bool { flags.contains(flag) }

    mutating func add(_ value: String, to name: String) { values[name, default: []].append(value) }
    mutating func set(_ flag: String) { flags.insert(flag) }
}

/// Reads command lines of the form `program [VERB] [--name VALUE | --name=VALUE | --flag | POSITIONAL]...`.
///
/// Options and positionals may be mixed; after `--` all are positionals. Not accepted: unknown or shortened names,
/// an option given twice unless it may be, short options other than `-h`.
package struct CommandLineParser: Sendable {
    package struct Option: Sendable {
        /// Without dashes.
        package var name: String
        /// Shown in the help; nil for a flag.
        package var valueName: String?
        package var help: String
        package var isRepeatable: Bool
        package var isRequired: Bool

        package init(
            _ name: String, value: String? = nil, repeatable: Bool = false, required: Bool = false, help: String
        ) {
            self.name = name
            valueName = value
            self.help = help
            isRepeatable = repeatable
            isRequired = required
        }
    }
    package struct Verb: Sendable {
        /// One or more words: `check`, `token inspect`.
        package var name: String
        /// For the help: `["FILE..."]`.
        package var positionalNames: [String]
        package var positionalCount: ClosedRange<Int>
        package var options: [Option]
        package var help: String

        package init(
            _ name: String, positionals: [String] = [], count: ClosedRange<Int>? = nil, options: [Option] = [],
            help: String
        ) {
            self.name = name
            positionalNames = positionals
            positionalCount = count ?? positionals.count...positionals.count
            self.options = options
            self.help = help
        }
    }

    package var program: String
    package var summary: String
    /// Accepted with every verb.
    package var options: [Option]
    /// Empty: the program has no verbs and takes no positionals.
    package var verbs: [Verb]

    package init(program: String, summary: String, options: [Option], verbs: [Verb] = []) {
        self.program = program
        self.summary = summary
        self.options = options
        self.verbs = verbs
    }

    /// Reads arguments, without the name of the program.
    ///
    /// - Throws: At the first fault.
    /// - Returns: What the arguments said.
    package func parse(_ arguments: [String]) throws(UsageError) -> ParsedArguments {
        var parsed = ParsedArguments()
        var rest = arguments[...]
        let verb = verbs.isEmpty ? nil : try takeVerb(from: &rest)
        parsed.verb = verb?.name
        let known = options + (verb?.options ?? [])
        while let argument = rest.popFirst() {
            if argument == "--" {
                parsed.positionals += rest
                break
            } else if argument.utf8.starts(with: "--".utf8) {
                try takeOption(String(argument.dropFirst(2)), from: &rest, known: known, into: &parsed)
            } else if argument.utf8.first == 0x2D, argument != "-" {
                throw UsageError("unknown option \(argument.quoted)")
            } else {
                parsed.positionals.append(argument)
            }
        }
        try checkPositionals(parsed.positionals, of: verb)
        for option in known where option.isRequired && parsed.value(option.name) == nil {
            throw UsageError("missing option '--\(option.name)'")
        }
        return parsed
    }

    /// Whether somebody asks for help, as the first word `help` or in any place before `--`.
    package static func asksForHelp(_ arguments: [String]) -> Bool {
        arguments.first == "help" || arguments.prefix { $0 != "--" }.contains { $0 == "--help" || $0 == "-h" }
    }

    private func takeVerb(from rest: inout ArraySlice<String>) throws(UsageError) -> Verb {
        guard let first = rest.first else {
            throw UsageError("missing verb, one of \(ScalarText.alternatives(firstWords))")
        }
        let fitting = verbs.filter { verb in
            rest.starts(with: verb.name.split(separator: " ").map(String.init))
        }
        if let verb = fitting.max(by: { $0.name.utf8.count < $1.name.utf8.count }) {
            rest = rest.dropFirst(verb.name.split(separator: " ").count)
            return verb
        }
        let followers = verbs.filter { $0.name.hasPrefix(first + " ") }
            .map { String($0.name.dropFirst(first.count + 1)) }
        guard !followers.isEmpty else {
            throw UsageError("unknown verb \(first.quoted)\(NearestName.hint(for: first, in: firstWords))")
        }
        guard let second = rest.dropFirst().first else {
            throw UsageError("\(first.quoted) needs \(ScalarText.alternatives(followers))")
        }
        let hint = NearestName.hint(for: second, in: followers)
        throw UsageError("\(first.quoted) needs \(ScalarText.alternatives(followers)), not \(second.quoted)\(hint)")
    }

    private var firstWords: [String] {
        var words: [String] = []
        for verb in verbs {
            let word = String(verb.name.prefix { $0 != " " })
            if !words.contains(word) { words.append(word) }
        }
        return words
    }

    private func takeOption(
        _ text: String, from rest: inout ArraySlice<String>, known: [Option], into parsed: inout ParsedArguments
    ) throws(UsageError) {
        let equals = text.firstIndex(of: "=")
        let name = String(text[..<(equals ?? text.endIndex)])
        guard let option = known.first(where: { $0.name == name }) else {
            let near = NearestName.of(name, in: known.map(\.name)).map { ", did you mean '--\($0)'?" }
            throw UsageError("unknown option \("--\(name)".quoted)\(near ?? "")")
        }
        guard option.valueName != nil else {
            guard equals == nil else { throw UsageError("option '--\(name)' takes no value") }
            parsed.set(name)
            return
        }
        guard option.isRepeatable || parsed.value(name) == nil else {
            throw UsageError("option '--\(name)' is given twice")
        }
        if let equals {
            parsed.add(String(text[text.index(after: equals)...]), to: name)
        } else if let value = rest.popFirst() {
            parsed.add(value, to: name)
        } else {
            throw UsageError("option '--\(name)' needs a value")
        }
    }

    private func checkPositionals(_ positionals: [String], of verb: Verb?) throws(UsageError) {
        let range = verb?.positionalCount ?? 0...0
        if positionals.count > range.upperBound {
            throw UsageError("unexpected argument \(positionals[range.upperBound].quoted)")
        }
        if positionals.count < range.lowerBound {
            let names = verb?.positionalNames ?? []
            let missing = positionals.count < names.count ? names[positionals.count] : "an argument"
            throw UsageError("missing \(missing)")
        }
    }
}
