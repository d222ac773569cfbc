// SPDX-License-Identifier: Apache-2.0

/// Takes the faults that decoders find, so that they can go on and all faults come out in one run.
///
/// Used by one thread at a time.
package final class Reporter {
    package private(set) var diagnostics = Diagnostics()

    package init() {}

    package func error(_ message: String, at mark: Mark) {
        diagnostics.add(Diagnostic(.error, message, at: mark))
    }

    package func warning(_ message: String, at mark: Mark) {
        diagnostics.add(Diagnostic(.warning, message, at: mark))
    }

    package func addSource(file: String, bytes: [UInt8]) {
        diagnostics.addSource(file: file, bytes: bytes)
    }
}
