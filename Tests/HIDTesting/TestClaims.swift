// SPDX-License-Identifier: Apache-2.0

/// An ordered JSON object of raw member texts, so that a test can write anything: duplicates, escapes, bad types.
package struct TestClaims: Sendable {
    /// Names and values as they will stand in the JSON text; names without their quotes.
    package var members: [(name: String, json: String)]

    /// Makes an object.
    package init(_ members: [(name: String, json: String)]) {
        self.members = members
    }

    /// The raw JSON text of a member; setting nil removes it, setting a new one appends it.
    package subscript(_ name: String) -> String? {
        get { members.first { $0.name == name }?.json }
        set {
            guard let newValue else { return members.removeAll { $0.name == name } }
            if let index = members.firstIndex(where: { $0.name == name }) {
                members[index].json = newValue
            } else {
                members.append((name, newValue))
            }
        }
    }

    /// The object with one member changed or removed.
    package func with(_ name: String, _ json: String?) -> TestClaims {
        var changed = self
        changed[name] = json
        return changed
    }

    /// The object with a member appended, even if its name is there already.
    package func appending(_ name: String, _ json: String) -> TestClaims {
        TestClaims(members + [(name, json)])
    }

    /// The compact JSON text.
    package var json: String {
        "{" + members.map { "\"\($0.name)\":\($0.json)" }.joined(separator: ",") + "}"
    }
}
