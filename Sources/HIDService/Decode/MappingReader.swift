// SPDX-License-Identifier: Apache-2.0

/// Reads a mapping by its keys and remembers which were asked for.
package final class MappingReader {
    package let name: String
    package let mark: Mark
    package let reporter: Reporter
    private let entries: [YAMLNode.Entry]
    private var known: Set<String> = []
    private var takesAnyKey = false

    init(_ entries: [YAMLNode.Entry], name: String, mark: Mark, reporter: Reporter) {
        self.entries = entries
        self.name = name
        self.mark = mark
        self.reporter = reporter
    }

    /// The value of an optional key.
    package func value(_ key: String) -> ConfigurationValue? {
        known.insert(key)
        guard let entry = entries.first(where: { $0.key == key }) else { return nil }
        return ConfigurationValue(entry.value, name: key, reporter: reporter)
    }

    /// The value of a key that must be there.
    package func required(_ key: String) -> ConfigurationValue? {
        let found = value(key)
        if found == nil {
            reporter.error("missing key \(key.quoted)\(name.isEmpty ? "" : " in \(name.quoted)")", at: mark)
        }
        return found
    }

    /// Where a key stands; nil when it is not there.
    package func keyMark(_ key: String) -> Mark? {
        entries.first { $0.key == key }?.keyMark
    }

    /// Refuses a documented key that this version does not implement: ignoring it would be worse.
    package func notAvailable(_ keys: String...) {
        for key in keys {
            known.insert(key)
            if let mark = keyMark(key) {
                reporter.error("\(key.quoted) is not available in this version", at: mark)
            }
        }
    }

    /// All entries of a mapping whose keys are names chosen by the author.
    package func allEntries() -> [(key: String, keyMark: Mark, value: ConfigurationValue)] {
        takesAnyKey = true
        return entries.map { entry in
            (entry.key, entry.keyMark, ConfigurationValue(entry.value, name: entry.key, reporter: reporter))
        }
    }

    func reportUnknownKeys() {
        guard !takesAnyKey else { return }
        for entry in entries where !known.contains(entry.key) {
            let hint = NearestName.hint(for: entry.key, in: known.sorted())
            reporter.error("unknown key \(entry.key.quoted)\(hint)", at: entry.keyMark)
        }
    }
}
