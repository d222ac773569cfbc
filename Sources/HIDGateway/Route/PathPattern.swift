// SPDX-License-Identifier: Apache-2.0

/// The `path` of a rule: exact, `/a/**` (`/a` and all below it, whole segments), `*` for one segment.
package struct PathPattern: Sendable, Hashable {
    /// The pattern as written.
    package let text: String

    package init(unchecked text: String) {
        self.text = text
    }
}
