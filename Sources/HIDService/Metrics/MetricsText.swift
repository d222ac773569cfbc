// SPDX-License-Identifier: Apache-2.0

/// Builds the text exposition format 0.0.4 of Prometheus.
struct MetricsText {
    private(set) var bytes: [UInt8] = []

    mutating func header(_ name: String, kind: String, help: String) {
        bytes += "# HELP \(name) ".utf8
        for byte in help.utf8 {
            switch byte {
            case 0x5C: bytes += [0x5C, 0x5C]
            case 0x0A: bytes += [0x5C, 0x6E]
            default: bytes.append(byte)
            }
        }
        bytes += "\n# TYPE \(name) \(kind)\n".utf8
    }

    mutating func sample(_ name: String, _ labels: String, integer: Int) {
        begin(name, labels)
        Decimal.append(integer, to: &bytes)
        bytes.append(0x0A)
    }

    mutating func sample(_ name: String, _ labels: String, double: Double) {
        begin(name, labels)
        bytes += Self.number(double).utf8
        bytes.append(0x0A)
    }

    mutating func histogram(_ name: String, _ labels: String, _ histogram: Histogram) {
        var total = 0
        for (index, count) in histogram.counts.enumerated() {
            total += count
            let bound = index < histogram.bounds.count ? fixed(histogram.bounds[index], histogram.scale) : "+Inf"
            let separator = labels.isEmpty ? "" : ","
            sample(name + "_bucket", "\(labels)\(separator)le=\"\(bound)\"", integer: total)
        }
        begin(name + "_sum", labels)
        bytes += fixed(histogram.sum, histogram.scale).utf8
        bytes.append(0x0A)
        sample(name + "_count", labels, integer: total)
    }

    private mutating func begin(_ name: String, _ labels: String) {
        bytes += name.utf8
        if !labels.isEmpty { bytes += "{\(labels)}".utf8 }
        bytes.append(0x20)
    }

    /// A quotient without rounding, for scales that are powers of ten.
    private func fixed(_ value: Int, _ scale: Int) -> String {
        let (whole, rest) = value.magnitude.quotientAndRemainder(dividingBy: scale.magnitude)
        let sign = value < 0 ? "-" : ""
        guard rest > 0 else { return "\(sign)\(whole)" }
        // The 1 in front keeps the leading zeros.
        let digits = String(scale.magnitude + rest).dropFirst()
        let end = digits.lastIndex { $0 != "0" } ?? digits.startIndex
        return "\(sign)\(whole).\(digits[...end])"
    }

    private static func number(_ value: Double) -> String {
        if value.isNaN { return "NaN" }
        if value.isInfinite { return value < 0 ? "-Inf" : "+Inf" }
        if let integer = Int(exactly: value) { return String(integer) }
        return "\(value)"
    }

    /// `a="x",b="y"`, values escaped.
    static func labels(_ labels: MetricsRegistry.Labels) -> String {
        labels.map { label in
            var escaped: [UInt8] = []
            for byte in label.value.utf8 {
                switch byte {
                case 0x5C, 0x22: escaped += [0x5C, byte]
                case 0x0A: escaped += [0x5C, 0x6E]
                default: escaped.append(byte)
                }
            }
            return "\(label.name)=\"\(String(decoding: escaped, as: UTF8.self))\""
        }.joined(separator: ",")
    }

    static func isName(_ name: String) -> Bool {
        isLabelName(name.replacing(0x3A))
    }

    static func isLabelName(_ name: String) -> Bool {
        guard let first = name.utf8.first, !(0x30...0x39).contains(first) else { return false }
        return name.utf8.allSatisfy { byte in
            switch byte {
            case 0x30...0x39, 0x41...0x5A, 0x61...0x7A, 0x5F: true
            default: false
            }
        }
    }
}

extension String {
    /// The text with an octet turned into an underscore.
    func replacing(_ octet: UInt8) -> String {
        String(decoding: utf8.map { $0 == octet ? 0x5F : $0 }, as: UTF8.self)
    }
}
