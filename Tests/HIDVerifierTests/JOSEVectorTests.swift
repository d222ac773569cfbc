// SPDX-License-Identifier: Apache-2.0
import HIDCrypto
import HIDTesting
import Testing

@testable import HIDVerifier

/// A JSON value that can be written again, to take keys out of the vector files.
private indirect enum JSONValue: Codable {
    case object([String: JSONValue])
    case array([JSONValue])
    case text(String)

    init(from decoder: any Decoder) throws {
        let container = try decoder.singleValueContainer()
        if let text = try? container.decode(String.self) {
            self = .text(text)
        } else if let array = try? container.decode([JSONValue].self) {
            self = .array(array)
        } else {
            self = .object(try container.decode([String: JSONValue].self))
        }
    }

    func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        switch self {
        case .object(let members): try container.encode(members)
        case .array(let elements): try container.encode(elements)
        case .text(let text): try container.encode(text)
        }
    }

    var json: String {
        switch self {
        case .object(let members): "{" + members.map { "\"\($0.key)\":\($0.value.json)" }.joined(separator: ",") + "}"
        case .array(let elements): "[" + elements.map(\.json).joined(separator: ",") + "]"
        case .text(let text): "\"\(text)\""
        }
    }

    /// The JWK Set of a group: some files have the set, some a single key.
    var keySet: [UInt8] {
        if case .object(let members) = self, members["keys"] != nil { return Array(json.utf8) }
        return TestIssuer.jwks([json])
    }
}

private struct JOSEFile: Decodable {
    struct Group: Decodable {
        struct Case: Decodable {
            let tcId: Int
            let comment: String
            let jws: JSONValue?
            let result: String

            /// The token's octets: one case is the JSON serialisation, which is no compact token.
            var token: [UInt8]? {
                guard case .text(let text)? = jws else { return jws.map { Array($0.json.utf8) } }
                return Array(text.utf8)
            }
        }
        let comment: String
        let `public`: JSONValue?
        let `private`: JSONValue
        let tests: [Case]
    }
    let testGroups: [Group]
}

/// Wycheproof's JOSE files against the JWS layer: form, header, key choice and signature, but any `typ`.
@Suite(.enabled(if: Vectors.isAvailable, Comment(rawValue: Vectors.missingNote)))
struct JOSEVectorTests {
    /// tcIds of a file whose valid result is one for ES256 as well; everything else must be refused.
    private func run(_ file: String, accepting accepted: Set<Int>) throws -> Int {
        let vectors = try Vectors.json(file, as: JOSEFile.self)
        var count = 0
        for group in vectors.testGroups {
            let keys = try? KeySet(jwks: (group.public ?? group.private).keySet)
            for test in group.tests {
                guard let token = test.token else { continue }
                count += 1
                let isAccepted = verifies(token, keys: keys)
                #expect(isAccepted == accepted.contains(test.tcId), "\(group.comment) \(test.tcId) \(test.comment)")
                if accepted.contains(test.tcId) { #expect(test.result == "valid") }
            }
        }
        return count
    }

    private func verifies(_ token: [UInt8], keys: KeySet?) -> Bool {
        do throws(Reason) {
            let jws = try CompactJWS(token.span, acceptsAnyType: true)
            guard let key = jws.key(in: keys) else { return false }
            return try jws.proof(in: token.span).verifies(with: key)
        } catch {
            return false
        }
    }

    @Test func `of the JWS file only the ES256 signatures verify`() throws {
        #expect(try run("crypto/json_web_signature_test.json", accepting: [18, 378]) == 401)
    }

    @Test func `of the ES256 subset only the valid ones verify`() throws {
        #expect(try run("crypto/jws_es256_subset.json", accepting: [18, 378]) == 62)
    }

    @Test func `no faulty or foreign key of the JWK file is used`() throws {
        #expect(try run("crypto/json_web_key_test.json", accepting: []) == 26)
    }

    @Test func `of the mixed file only the ES256 signature verifies`() throws {
        #expect(try run("crypto/json_web_crypto_test.json", accepting: [18]) == 49)
    }

    @Test func `the JWK groups get the code that names their fault`() throws {
        let vectors = try Vectors.json("crypto/json_web_key_test.json", as: JOSEFile.self)
        let codes = [1: "jwks.private", 2: "jwks.private", 4: "jwks.private", 19: "jwks.empty", 20: "jwks.empty"]
        for group in vectors.testGroups {
            let first = group.tests[0].tcId
            do throws(KeySetFault) {
                _ = try KeySet(jwks: (group.public ?? group.private).keySet)
                Issue.record("group of \(first) has no usable key")
            } catch {
                if let code = codes[first] { #expect(error.code == code) }
                if case .empty(let skipped) = error, (19...24).contains(first) {
                    #expect(skipped.map(\.code) == ["jwks.key_bad"])
                }
            }
        }
    }

    @Test func `of the ES256 group every refusal has the reason of its kind`() throws {
        let vectors = try Vectors.json("crypto/jws_es256_subset.json", as: JOSEFile.self)
        var reasons: [Int: Reason] = [:]
        for group in vectors.testGroups {
            let keys = try? KeySet(jwks: (group.public ?? group.private).keySet)
            for test in group.tests {
                guard let token = test.token else { continue }
                do throws(Reason) {
                    let form = try CompactJWS(token.span, acceptsAnyType: true)
                    guard form.key(in: keys) != nil else { throw .keyIDUnknown }
                    _ = try form.proof(in: token.span)
                } catch {
                    reasons[test.tcId] = error
                }
            }
        }
        let expected: [Int: Reason] = [
            20: .tokenSignatureLength, 26: .tokenParts, 27: .tokenParts, 28: .tokenParts, 29: .tokenParts,
            30: .tokenMissing, 31: .algorithmNotAllowed, 32: .headerKeyMaterial, 354: .keyIDUnknown,
            356: .keyIDUnknown, 360: .tokenCharset, 365: .tokenCharset, 368: .tokenCharset, 372: .tokenCharset,
            373: .tokenCharset, 374: .base64Noncanonical, 379: .tokenSignatureLength, 380: .tokenSignatureLength,
            386: .tokenSignatureRange, 398: .tokenSignatureRange,
        ]
        for (id, reason) in expected { #expect(reasons[id] == reason, "\(id)") }
    }
}
