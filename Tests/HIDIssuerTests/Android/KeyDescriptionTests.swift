// SPDX-License-Identifier: Apache-2.0
import HIDCrypto
import HIDIssuer
import HIDTesting
import Testing

@Suite struct KeyDescriptionTests {
    @Test func `every field of a description is read`() throws {
        var writer = KeyDescriptionWriter()
        writer.attestationVersion = DERWriter.integer(400)
        writer.keymintVersion = DERWriter.integer(41)
        writer.setLevels(2)
        writer.set(504, DERWriter.integer(3))
        writer.set(600, DERWriter.null)
        writer.set(1, DERWriter.set(DERWriter.integer(7), DERWriter.integer(2)))
        let description = try KeyDescription(writer.written())
        #expect(description.attestationVersion == 400)
        #expect(description.keymintVersion == 41)
        #expect(description.attestationLevel == .strongbox)
        #expect(description.keymintLevel == .strongbox)
        #expect(description.challenge == AndroidTestChain.nonce)
        let list = description.hardwareEnforced
        #expect(list.purposes == [7, 2])
        #expect(list.algorithm == 3)
        #expect(list.keySize == 256)
        #expect(list.digests == [4])
        #expect(list.curve == 1)
        #expect(list.noAuthRequired)
        #expect(list.userAuthType == 3)
        #expect(list.allApplications)
        #expect(list.origin == 0)
        #expect(list.osVersion == 160000)
        #expect(list.osPatch == 202602)
        #expect(list.vendorPatch == 20_260_205)
        #expect(list.bootPatch == 20_260_205)
        #expect(list.rootOfTrust?.verifiedBootKey.count == 32)
        #expect(list.rootOfTrust?.deviceLocked == true)
        #expect(list.rootOfTrust?.verifiedBootState == 0)
        #expect(list.rootOfTrust?.verifiedBootHash?.count == 32)
        #expect(list.isOrdered && list.unknownTags == 0)
        #expect(description.softwareEnforced.creation == 1_772_323_200_000)
        #expect(description.applicationID?.packages == [Array(AndroidTestChain.package.utf8)])
        #expect(description.applicationID?.versions == [7])
        #expect(description.applicationID?.signerDigests == [AndroidTestChain.signer])
    }

    /// A description that is not DER or not of the schema.
    struct Malformed: Sendable, CustomTestStringConvertible {
        let testDescription: String
        let change: @Sendable (inout KeyDescriptionWriter) -> Void

        init(_ name: String, _ change: @escaping @Sendable (inout KeyDescriptionWriter) -> Void) {
            testDescription = name
            self.change = change
        }
    }

    private static func element(_ tag: UInt64, _ value: [UInt8]) -> [UInt8] { DERWriter.explicit(tag, value) }

    static let malformed: [Malformed] = [
        Malformed("a tag twice") { $0.hardware.append((706, DERWriter.integer(202602))) },
        Malformed("a tag twice, far apart") { $0.hardware.append((1, DERWriter.set(DERWriter.integer(2)))) },
        Malformed("an unknown tag twice") { $0.tail = element(9999, DERWriter.null) + element(9999, DERWriter.null) },
        Malformed("a tag of device-id attestation twice") {
            $0.tail = element(714, DERWriter.octetString([1])) + element(714, DERWriter.octetString([1]))
        },
        Malformed("a tag twice in the software list") { $0.software.append((701, DERWriter.integer(1))) },
        Malformed("an octet behind the last tag") { $0.tail = [0] },
        Malformed("two values in one tag") {
            $0.set(706, DERWriter.integer(1) + DERWriter.integer(2))
        },
        Malformed("no value in a tag") { $0.set(706, []) },
        Malformed("an indefinite length in an unknown tag") { $0.tail = element(9999, [0x30, 0x80, 0x00, 0x00]) },
        Malformed("a long length in an unknown tag") { $0.tail = element(9999, [0x30, 0x81, 0x00]) },
        Malformed("a tag number with a leading zero") { $0.tail = [0xBF, 0x80, 0x7F, 0x02, 0x05, 0x00] },
        Malformed("a tag number of 5 octets") { $0.tail = [0xBF, 0x81, 0x81, 0x81, 0x81, 0x01, 0x02, 0x05, 0x00] },
        Malformed("a small tag number in the long form") { $0.tail = [0xBF, 0x0A, 0x03, 0x02, 0x01, 0x01] },
        Malformed("a universal tag in a list") { $0.tail = DERWriter.integer(1) },
        Malformed("a primitive tag in a list") { $0.tail = [0x9F, 0x88, 0x01, 0x01, 0x00] },
        Malformed("an integer of 9 octets") { $0.set(706, [0x02, 0x09, 0x01, 0, 0, 0, 0, 0, 0, 0, 0]) },
        Malformed("an integer with a leading zero") { $0.set(706, [0x02, 0x02, 0x00, 0x01]) },
        Malformed("an empty integer") { $0.set(706, [0x02, 0x00]) },
        Malformed("an integer of 9 octets in a set") {
            $0.set(1, DERWriter.set([0x02, 0x09, 0x01, 0, 0, 0, 0, 0, 0, 0, 0]))
        },
        Malformed("purposes that are no set") { $0.set(1, DERWriter.integer(2)) },
        Malformed("purposes in a sequence") { $0.set(1, DERWriter.sequence(DERWriter.integer(2))) },
        Malformed("purposes of enumerated values") { $0.set(1, DERWriter.set(DERWriter.enumerated(2))) },
        Malformed("a flag with a content") { $0.set(503, [0x05, 0x01, 0x00]) },
        Malformed("a flag that is a boolean") { $0.set(600, DERWriter.boolean(false)) },
        Malformed("a lock of two octets") { $0.set(704, KeyDescriptionWriter.root(locked: [1, 2, 0xFF, 0xFF])) },
        Malformed("a lock without an octet") { $0.set(704, KeyDescriptionWriter.root(locked: [1, 0])) },
        Malformed("a lock that is an integer") { $0.set(704, KeyDescriptionWriter.root(locked: [2, 1, 1])) },
        Malformed("a root of trust without a state") {
            $0.set(704, DERWriter.sequence(DERWriter.octetString([1]), DERWriter.boolean(true)))
        },
        Malformed("a root of trust with a fifth field") {
            $0.set(
                704,
                DERWriter.sequence(
                    DERWriter.octetString([1]), DERWriter.boolean(true), DERWriter.enumerated(0),
                    DERWriter.octetString([1]), DERWriter.octetString([1])))
        },
        Malformed("a root of trust that is a set") {
            $0.set(704, DERWriter.set(DERWriter.octetString([1]), DERWriter.boolean(true), DERWriter.enumerated(0)))
        },
        Malformed("an application that is no DER") { $0.software[1].value = DERWriter.octetString([1, 2, 3]) },
        Malformed("an application without digests") {
            $0.software[1].value = DERWriter.octetString(DERWriter.sequence(DERWriter.set()))
        },
        Malformed("an application with something behind it") {
            $0.software[1].value = DERWriter.octetString(KeyDescriptionWriter.application() + [0])
        },
        Malformed("an application outside an octet string") {
            $0.software[1].value = KeyDescriptionWriter.application()
        },
        Malformed("an unknown level") { $0.attestationLevel = DERWriter.enumerated(3) },
        Malformed("a negative level") { $0.keymintLevel = DERWriter.enumerated(-1) },
        Malformed("a level of the keystore") { $0.keymintLevel = DERWriter.enumerated(100) },
        Malformed("a level that is an integer") { $0.attestationLevel = DERWriter.integer(1) },
        Malformed("a version of 9 octets") { $0.attestationVersion = [0x02, 0x09, 0x01, 0, 0, 0, 0, 0, 0, 0, 0] },
        Malformed("a nonce that is a text") { $0.challenge = DERWriter.utf8("nonce") },
        Malformed("no unique identifier") { $0.uniqueID = [] },
        Malformed("something behind the unique identifier") { $0.uniqueID += DERWriter.null },
        Malformed("nesting of 9 levels") {
            var deep = DERWriter.null
            for _ in 0..<6 { deep = DERWriter.sequence(deep) }
            $0.tail = element(9999, deep)
        },
    ]

    @Test(arguments: malformed)
    func `a malformed description is refused`(_ case: Malformed) throws {
        var writer = KeyDescriptionWriter()
        `case`.change(&writer)
        let octets = writer.written()
        #expect(throws: DERFault.self) { try KeyDescription(octets) }
        var chain = try AndroidTestChain()
        chain.description = writer
        let report = AndroidAttestationVerifier().verify(
            chain: try chain.signed(), policy: try chain.policy(), revocation: nil, now: AndroidTestChain.now)
        #expect(report.reasons == [.keyDescriptionMalformed])
        #expect(report.key == nil)
    }

    @Test func `eight levels are read`() throws {
        var writer = KeyDescriptionWriter()
        var deep = DERWriter.null
        for _ in 0..<5 { deep = DERWriter.sequence(deep) }
        writer.tail = Self.element(9999, deep)
        #expect(try KeyDescription(writer.written()).hardwareEnforced.unknownTags == 1)
    }

    @Test func `a description has an end, at every length`() throws {
        let octets = KeyDescriptionWriter().written()
        for count in 0..<octets.count {
            #expect(throws: DERFault.self) { try KeyDescription(Array(octets.prefix(count))) }
        }
        #expect(throws: DERFault.trailingOctets) { try KeyDescription(octets + [0]) }
    }

    @Test func `what identifies a phone is nowhere in a report`() throws {
        var chain = try AndroidTestChain()
        let secret = "490154203237518"
        chain.description.uniqueID = DERWriter.octetString(Array(secret.utf8))
        for tag: UInt64 in [710, 711, 712, 713, 714, 715, 716, 717, 723] {
            chain.description.hardware.append((tag, DERWriter.octetString(Array(secret.utf8))))
        }
        let octets = try chain.signed()
        var policy = try chain.policy()
        for challenge in [AndroidTestChain.nonce, [1]] {
            policy.challenge = challenge
            let report = AndroidAttestationVerifier().verify(
                chain: octets, policy: policy, revocation: nil, now: AndroidTestChain.now)
            #expect(!"\(report)".contains(secret))
            #expect(!"\(report)".contains(Hex.octets(Array(secret.utf8))))
            #expect(!"\(report)".contains("\(Array(secret.utf8))"))
        }
    }

    @Test func `random changes of a description end in a value or a fault`() throws {
        let octets = KeyDescriptionWriter().written()
        var random = SystemRandomNumberGenerator()
        for _ in 0..<20_000 {
            var other = octets
            for _ in 0..<Int.random(in: 1...4, using: &random) {
                other[Int.random(in: other.indices, using: &random)] = UInt8.random(in: 0 ... .max, using: &random)
            }
            _ = try? KeyDescription(other)
        }
    }
}
