// SPDX-License-Identifier: Apache-2.0

/// How some upstream reads the path of a request line, written without any of the gateway's code.
struct UpstreamModel: Sendable {
    let name: String
    /// The path that its router sees, ``PathSteps/separator`` between segments.
    let read: @Sendable ([UInt8]) -> [UInt8]
    var ignoresCase = false
    /// Whether `name.ext` is routed like `name`.
    var dropsExtension = false

    private typealias Step = PathSteps

    static let all: [UpstreamModel] = standards + servers + frameworks + chains

    private static let standards = [
        UpstreamModel(name: "RFC 3986") { Step.decode(Step.resolve(Step.split($0), by: 1, merging: false)) },
        UpstreamModel(name: "WHATWG") { path in
            Step.decode(Step.split(Step.resolve(Step.backslashes(path.filter { $0 > 0x20 }), merging: false)))
        },
        UpstreamModel(name: "WHATWG with a base") { path in
            let whole = Step.withoutHost(Step.backslashes(path.filter { $0 > 0x20 }))
            return Step.decode(Step.split(Step.resolve(whole, merging: false)))
        },
        UpstreamModel(name: "RFC 1808") { path in
            Step.split(Step.resolve(Step.decode(Step.cut(path, at: [0x3B, 0x3F, 0x23])), merging: false))
        },
    ]

    private static let servers = [
        UpstreamModel(name: "nginx") { Step.split(Step.resolve(Step.decode($0), merging: true)) },
        UpstreamModel(name: "httpd") { path in
            Step.split(Step.resolve(Step.merge(Step.decode(path)), merging: false))
        },
        UpstreamModel(name: "httpd, encoded slashes kept") { path in
            let decoded = Step.decode(path, keepingSlashes: true)
            return Step.decode(Step.split(Step.resolve(decoded, merging: true)))
        },
        UpstreamModel(name: "Tomcat") { path in
            Step.split(Step.resolve(Step.decode(Step.stripped(path)), merging: true))
        },
        UpstreamModel(name: "Tomcat with backslashes") { path in
            Step.split(Step.resolve(Step.backslashes(Step.decode(Step.stripped(path))), merging: true))
        },
        UpstreamModel(name: "Jetty") { path in
            Step.trimmedEnd(Step.split(Step.decode(Step.resolve(Step.stripped(path), merging: false))))
        },
        UpstreamModel(name: "Windows", read: { Step.windows(Step.decode($0)) }, ignoresCase: true),
        UpstreamModel(
            name: "IIS with double escapes", read: { Step.windows(Step.decodeWide(Step.decode($0))) }, ignoresCase: true
        ),
        UpstreamModel(
            name: "Kestrel",
            read: { path in
                let decoded = Step.decode(path, keepingSlashes: true)
                return Step.trimmedEnd(Step.split(Step.resolve(decoded, merging: false)))
            }, ignoresCase: true),
        UpstreamModel(name: "WSGI") { Step.trimmedEnd(Step.split(Step.decode($0))) },
    ]

    private static let frameworks = [
        UpstreamModel(
            name: "Spring",
            read: { path in
                Step.trimmedEnd(Step.split(Step.resolve(Step.decode(Step.stripped(path)), merging: true)))
            }, dropsExtension: true),
        UpstreamModel(
            name: "Spring after the container",
            read: { path in
                let handed = Step.resolve(Step.decode(Step.stripped(path)), merging: true)
                return Step.trimmedEnd(Step.split(Step.merge(Step.decode(Step.stripped(handed)))))
            }, dropsExtension: true),
        UpstreamModel(name: "Shiro") { path in
            Step.trimmedEnd(Step.split(Step.resolve(Step.cut(Step.decode(path), at: [0x3B]), merging: true)))
        },
        UpstreamModel(
            name: "Express", read: { Step.decode(Step.trimmedEnd(Step.split($0))) }, ignoresCase: true),
        UpstreamModel(
            name: "Rails", read: { Step.decode(Step.split(Step.merge($0))) }, dropsExtension: true),
        UpstreamModel(name: "Go") { Step.trimmedEnd(Step.split(Step.resolve(Step.decode($0), merging: true))) },
        UpstreamModel(name: "parameters after dots") { path in
            let resolved = Step.resolve(Step.decode(path), merging: false)
            return Step.trimmedEnd(Step.split(Step.merge(Step.stripped(resolved))))
        },
        UpstreamModel(name: "parameters of segments") { path in
            let segments = Step.resolve(Step.split(path), by: 1, merging: true)
            return Step.decode(Step.stripped(segments, by: 1))
        },
        UpstreamModel(name: "form decoder") { path in
            let plain = Step.decode(Step.replacing(0x2B, with: 0x20, in: path))
            return Step.trimmedBlanks(Step.trimmedEnd(Step.split(Step.resolve(plain, merging: true))))
        },
    ]

    private static let chains = [
        UpstreamModel(name: "two decoders") { path in
            Step.split(Step.resolve(Step.decode(Step.decode(path)), merging: true))
        },
        UpstreamModel(name: "a normalising proxy and a decoder") { path in
            Step.split(Step.resolve(Step.decode(Step.resolve(Step.decode(path), merging: true)), merging: false))
        },
        UpstreamModel(name: "three decoders, no dots") { path in
            Step.trimmedEnd(Step.split(Step.decode(Step.decode(Step.decode(path)))))
        },
        UpstreamModel(name: "segments decoded twice") { path in
            Step.decode(Step.decode(Step.resolve(Step.split(path), by: 1, merging: true)))
        },
        UpstreamModel(name: "a second parser") { path in
            let decoded = Step.cut(Step.decode(path), at: [0x3F, 0x23])
            return Step.split(Step.resolve(Step.withoutHost(decoded), merging: false))
        },
        UpstreamModel(
            name: "NFKC",
            read: { path in
                Step.trimmedEnd(
                    Step.split(Step.resolve(Step.decode(Step.compatible(Step.decode(path))), merging: true)))
            }, ignoresCase: true, dropsExtension: true),
        UpstreamModel(
            name: "NFKC after routing dots",
            read: { Step.trimmedEnd(Step.split(Step.compatible(Step.decode($0)))) }, ignoresCase: true),
        UpstreamModel(
            name: "upper case",
            read: { Step.uppercasedAndBack(Step.trimmedEnd(Step.split(Step.decode($0)))) }),
    ]
}
