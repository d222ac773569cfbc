// SPDX-License-Identifier: Apache-2.0

extension CommandLineParser {
    /// The text of `--help`.
    package var help: String {
        var text = "\(program): \(summary)\n\nusage: \(program)"
        text += (verbs.isEmpty ? "" : " VERB") + options.map { " " + synopsis($0) }.joined() + "\n"
        if !verbs.isEmpty {
            text += "\nverbs:\n"
            for verb in verbs {
                text += line(([verb.name] + verb.positionalNames + verb.options.map(synopsis)), verb.help)
            }
        }
        text += "\noptions:\n"
        for option in options { text += line([form(option)], option.help) }
        return text
    }

    private func form(_ option: Option) -> String {
        "--\(option.name)" + (option.valueName.map { " \($0)" } ?? "")
    }

    private func synopsis(_ option: Option) -> String {
        option.isRequired ? form(option) : "[\(form(option))]"
    }

    private func line(_ words: [String], _ help: String) -> String {
        let left = "  " + words.joined(separator: " ")
        let width = 30
        let gap = left.count < width ? width - left.count : width
        return left + (left.count < width ? "" : "\n") + String(repeating: " ", count: gap) + help + "\n"
    }
}
