// swift-tools-version: 6.2
// SPDX-License-Identifier: Apache-2.0
import PackageDescription

/// Swift 6 mode everywhere, and every warning is an error: the rules of the house hold for tests as well.
let strict: [SwiftSetting] = [
    .strictMemorySafety(),
    .treatAllWarnings(as: .error),
    .enableUpcomingFeature("ExistentialAny"),
    .enableUpcomingFeature("InternalImportsByDefault"),
    .enableUpcomingFeature("MemberImportVisibility"),
]

func library(_ name: String, _ dependencies: [Target.Dependency]) -> Target {
    .target(name: name, dependencies: dependencies, swiftSettings: strict)
}

/// Targets that Apple platforms do without: there the system's own libraries do the same work.
func onLinux(_ names: [String]) -> [Target.Dependency] {
    names.map { .target(name: $0, condition: .when(platforms: [.linux])) }
}

func program(_ name: String, _ dependencies: [Target.Dependency]) -> Target {
    .executableTarget(name: name, dependencies: dependencies, swiftSettings: strict)
}

func tests(_ name: String, _ dependencies: [Target.Dependency], exclude: [String] = []) -> Target {
    .testTarget(name: name, dependencies: dependencies + ["HIDTesting"], exclude: exclude, swiftSettings: strict)
}

let package = Package(
    name: "hidgate",
    // For HIDClient, the one product that phones build.
    platforms: [.iOS(.v18), .macOS(.v15)],
    products: [
        .library(name: "HIDVerifier", targets: ["HIDVerifier"]),
        .library(name: "HIDClient", targets: ["HIDClient"]),
        .executable(name: "hidgated", targets: ["hidgated"]),
        .executable(name: "hisd", targets: ["hisd"]),
        .executable(name: "hidctl", targets: ["hidctl"]),
    ],
    targets: [
        // Layer 0: C libraries, one importer each. Module maps and small shims, no logic.
        .systemLibrary(name: "COpenSSL", pkgConfig: "openssl", providers: [.apt(["libssl-dev"])]),
        .systemLibrary(name: "CCurl", pkgConfig: "libcurl", providers: [.apt(["libcurl4-openssl-dev"])]),
        .systemLibrary(name: "CAres", pkgConfig: "libcares", providers: [.apt(["libc-ares-dev"])]),
        .systemLibrary(name: "CNghttp2", pkgConfig: "libnghttp2", providers: [.apt(["libnghttp2-dev"])]),
        .systemLibrary(name: "CYAML", pkgConfig: "yaml-0.1", providers: [.apt(["libyaml-dev"])]),
        .systemLibrary(name: "CSQLite", pkgConfig: "sqlite3", providers: [.apt(["libsqlite3-dev"])]),
        .systemLibrary(name: "CLinux"),
        // Layer 1: foundations.
        library("HIDCrypto", ["COpenSSL"]),
        library("HIDService", ["CYAML"]),
        // Layer 2: capabilities. They do not know each other.
        library("HIDVerifier", ["HIDCrypto"]),
        library("HIDHTTP", ["HIDCrypto", "CCurl", "CAres", "CNghttp2", "CLinux"]),
        library("HIDStore", ["CSQLite"]),
        // What both daemons are: listeners, loops, admin listener, life.
        library("HIDDaemon", ["HIDCrypto", "HIDHTTP", "HIDService"]),
        // Layer 3: the gateway, the Human Identification Server, the SDK.
        library("HIDGateway", ["HIDCrypto", "HIDVerifier", "HIDHTTP", "HIDStore", "HIDService", "HIDDaemon"]),
        library("HIDIssuer", ["HIDCrypto", "HIDVerifier", "HIDHTTP", "HIDStore", "HIDService", "HIDDaemon"]),
        library("HIDClient", onLinux(["HIDCrypto", "HIDHTTP"])),
        // Layer 4: programs.
        program("hidgated", ["HIDGateway", "HIDDaemon"]),
        program("hisd", ["HIDIssuer", "HIDDaemon"]),
        program(
            "hidctl",
            [
                "HIDGateway", "HIDIssuer", "HIDClient", "HIDDaemon", "HIDVerifier", "HIDHTTP", "HIDCrypto",
                "HIDService",
            ]),
        // Measures the others; not installed.
        program("hidbench", ["HIDGateway", "HIDIssuer", "HIDHTTP", "HIDCrypto", "HIDService"]),
        // Tests.
        tests("HidctlTests", ["hidctl", "HIDGateway", "HIDDaemon", "HIDVerifier", "HIDService", "HIDCrypto"]),
        tests("HidbenchTests", ["hidbench", "HIDCrypto"]),
        tests("HIDDaemonTests", ["HIDDaemon", "HIDHTTP", "HIDService", "HIDCrypto"]),
        tests(
            "HIDIssuerTests",
            ["HIDIssuer", "HIDDaemon", "HIDVerifier", "HIDHTTP", "HIDStore", "HIDService", "HIDCrypto"]),
        tests("HIDClientTests", ["HIDClient", "HIDVerifier", "HIDHTTP", "HIDCrypto"]),
        .target(
            name: "HIDTesting", dependencies: ["HIDCrypto", "COpenSSL", "CNghttp2", "CLinux"], path: "Tests/HIDTesting",
            swiftSettings: strict),
        tests("HIDCryptoTests", ["HIDCrypto"]),
        tests("HIDVerifierTests", ["HIDVerifier", "HIDCrypto"]),
        tests("HIDServiceTests", ["HIDService"]),
        tests("HIDHTTPTests", ["HIDHTTP"], exclude: ["Vectors"]),
        tests("HIDStoreTests", ["HIDStore"]),
        tests(
            "HIDGatewayTests",
            [
                "HIDGateway", "HIDDaemon", "HIDHTTP", "HIDVerifier", "HIDStore", "HIDService", "HIDCrypto",
                // The models of upstreams.
                "hidbench",
            ],
            exclude: ["Vectors", "Scenarios/InProcess"]),
        tests(
            "EndToEndTests",
            ["HIDGateway", "HIDIssuer", "HIDClient", "HIDDaemon", "HIDVerifier", "HIDHTTP", "HIDService", "HIDCrypto"]),
        tests("LayeringTests", []),
    ],
    swiftLanguageModes: [.v6]
)
