// SPDX-License-Identifier: Apache-2.0

/// Paths as they stand in a configuration file: relative to that file.
///
/// Reads files, so not for event loops.
package struct ConfigurationPaths: Sendable {
    /// With a slash at its end, or empty.
    package let directory: String

    package init(relativeTo file: String) {
        directory = file.lastIndex(of: "/").map { String(file[...$0]) } ?? ""
    }

    package func resolved(_ path: String) -> String {
        path.hasPrefix("/") ? path : directory + path
    }

    /// A path to a file that must be there; one that is not is reported, and given all the same.
    package func existingFile(_ value: ConfigurationValue) -> String? {
        guard let text = value.string() else { return nil }
        do throws(SystemFault) {
            try FileSystem.requireFile(at: resolved(text))
        } catch {
            value.error(fault(value, text, error))
        }
        return resolved(text)
    }

    /// A path to a file that may be missing: then it is done without, and a warning says so.
    package func optionalFile(_ value: ConfigurationValue) -> String? {
        guard let text = value.string() else { return nil }
        do throws(SystemFault) {
            try FileSystem.requireFile(at: resolved(text))
            return resolved(text)
        } catch {
            value.warning(fault(value, text, error))
            return nil
        }
    }

    /// The octets of a file that the configuration names.
    package func contents(_ value: ConfigurationValue, limit: Int) -> [UInt8]? {
        guard let text = value.string() else { return nil }
        do throws(SystemFault) {
            return try FileSystem.contents(of: resolved(text), limit: limit)
        } catch {
            value.error(fault(value, text, error))
            return nil
        }
    }

    private func fault(_ value: ConfigurationValue, _ text: String, _ fault: SystemFault) -> String {
        "\(value.name.quoted): cannot read \(resolved(text).quoted): \(fault)"
    }
}
