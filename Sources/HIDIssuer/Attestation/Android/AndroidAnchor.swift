// SPDX-License-Identifier: Apache-2.0
internal import HIDCrypto

/// A key that the last link of a chain must verify with; the certificate around it never counts.
///
/// Pinning the key and not a certificate keeps phones going whose burnt-in copy of the root expired.
struct AndroidAnchor: Sendable {
    /// What stands behind a key.
    enum Kind: Sendable {
        /// Google's hardware attestation roots.
        case google
        /// From the configuration: a corporate or test root.
        case extra
        /// The roots of the Android source tree, whose private keys everybody has.
        case software
    }

    let name: String
    let kind: Kind
    /// DER of the Name that its children give as their issuer.
    let subject: [UInt8]
    /// DER of the SubjectPublicKeyInfo.
    let subjectPublicKeyInfo: [UInt8]
    /// SHA-256 of the SubjectPublicKeyInfo.
    let fingerprint: [UInt8]

    init(name: String, kind: Kind, subject: [UInt8], subjectPublicKeyInfo: [UInt8]) {
        self.name = name
        self.kind = kind
        self.subject = subject
        self.subjectPublicKeyInfo = subjectPublicKeyInfo
        fingerprint = SHA256.digest(subjectPublicKeyInfo.span)
    }

    /// A root of the configuration.
    init(extra certificate: Certificate) {
        self.init(
            name: "extra", kind: .extra, subject: certificate.subject.der,
            subjectPublicKeyInfo: certificate.subjectPublicKeyInfo)
    }

    private init(builtin name: String, kind: Kind, subject: String, key: String) {
        self.init(name: name, kind: kind, subject: Self.decode(subject), subjectPublicKeyInfo: Self.decode(key))
    }

    private static func decode(_ text: String) -> [UInt8] {
        let base64 = text.utf8.filter { $0 != UInt8(ascii: "\n") }
        return Base64.decode(base64.span) ?? []
    }

    /// The keys that Google publishes at https://android.googleapis.com/attestation/root.
    static let google = [
        AndroidAnchor(builtin: "google-rsa", kind: .google, subject: rsaSubject, key: rsaKey),
        AndroidAnchor(builtin: "google-p384", kind: .google, subject: curveSubject, key: curveKey),
    ]

    /// The software attestation roots of the Android source tree, to be refused with a reason of their own.
    static let software = [
        AndroidAnchor(
            builtin: "aosp-software-ec", kind: .software, subject: softwareCurveSubject, key: softwareCurveKey),
        AndroidAnchor(builtin: "aosp-software-rsa", kind: .software, subject: softwareRSASubject, key: softwareRSAKey),
    ]

    /// serialNumber=f92009e853b6b045.
    private static let rsaSubject = """
        MBsxGTAXBgNVBAUTEGY5MjAwOWU4NTNiNmIwNDU=
        """

    /// RSA-4096, SHA-256 feb2ea75...4580fbae; certificates of 2016, 2019, 2021 and 2022 hold it.
    private static let rsaKey = """
        MIICIjANBgkqhkiG9w0BAQEFAAOCAg8AMIICCgKCAgEAr7bHgiuxpwHsK7Qui8xUFmOr75gvMsd/dTEDDJdSSxtf6An7xyqp
        RR90PL2abxM1dEqlXnf2tqw1Ne4Xwl5jlRfdnJLmN0pTy/4lj4/7tv0Sk3iiKkypnEUtR6WfMgH0QZfKHM1+di+y9TFRtv6y
        //0rb+T+W8a9nsNL/ggjnar86461qO0rOs2cXjp3kOG1FEJ5MVmFmBGtnrKpa73XpXyTqRxB/M0n1n/W9nGqC4FSYa04T6N5
        RIZGBN2z2MT5IKGbFlbC8UrW0DxW7AYImQQcHtGl/m00QLVWutHQoVJYnFPlXTcHYvASLu+RhhsbDmxMgJJ0mcDpvsC4PjvB
        +TxywElgS70vE0XmLD+OJtvsBslHZvPBKCOdT0MS+tgSOIfga+z1Z1g7+DVagf7quvmag8jfPioyKvxnK/EgsTUVi2ghzq8w
        m27ud/mIM7AY2qEORR8Go3TVB4HzWQgpZrt3i5MIlCaY504LzSRiigHCzAPlHws+W0rB5N+er5/2pJKnfBSDiCiFAVtCLOZ7
        gLiMm0jhO2B6tUXHI/+MRPjy02i59lINMRRev56GKtcd9qO/0kUJWdZTdA2XoS82ixPvZtXQpUpuL12ab+9EaDK8Z4RHJYYf
        CT3Q5vNAXaiWQ+8PTWm2QgBR/bkwSWc+NpUFgNPN9PvQi8WEg5UmAGMCAwEAAQ==
        """

    /// CN=Key Attestation CA1, OU=Android, O=Google LLC, C=US.
    private static let curveSubject = """
        MFIxHDAaBgNVBAMME0tleSBBdHRlc3RhdGlvbiBDQTExEDAOBgNVBAsMB0FuZHJvaWQxEzARBgNVBAoMCkdvb2dsZSBMTEMx
        CzAJBgNVBAYTAlVT
        """

    /// P-384, SHA-256 3ee44512...76cd07ec; in use since February 2026.
    private static let curveKey = """
        MHYwEAYHKoZIzj0CAQYFK4EEACIDYgAEI9ojcU7fPlsFCjxy6IRqzgeOoK0b+YsV9FPQywiyw8EQRTkJ9u3qwfnI4DGoSLlB
        qClTXJfgfCcZvs60FikNMHnu4fkRzObfgDkU2KNXezT9/RQ+XvNslxPHrHCowhGr
        """

    /// CN=Android Keystore Software Attestation Root.
    private static let softwareCurveSubject = """
        MIGYMQswCQYDVQQGEwJVUzETMBEGA1UECAwKQ2FsaWZvcm5pYTEWMBQGA1UEBwwNTW91bnRhaW4gVmlldzEVMBMGA1UECgwM
        R29vZ2xlLCBJbmMuMRAwDgYDVQQLDAdBbmRyb2lkMTMwMQYDVQQDDCpBbmRyb2lkIEtleXN0b3JlIFNvZnR3YXJlIEF0dGVz
        dGF0aW9uIFJvb3Q=
        """

    /// P-256, SHA-256 d5100c79...c370f286.
    private static let softwareCurveKey = """
        MFkwEwYHKoZIzj0CAQYIKoZIzj0DAQcDQgAE7l1ex+HA220Dpn7mthvsTWpdamguD/9/SQ59dx9EIm29sa/6FsvHrcV30lac
        qrewLVQBXT5DKyqO107sSHVBpA==
        """

    /// O=Google, Inc., OU=Android.
    private static let softwareRSASubject = """
        MGMxCzAJBgNVBAYTAlVTMRMwEQYDVQQIDApDYWxpZm9ybmlhMRYwFAYDVQQHDA1Nb3VudGFpbiBWaWV3MRUwEwYDVQQKDAxH
        b29nbGUsIEluYy4xEDAOBgNVBAsMB0FuZHJvaWQ=
        """

    /// RSA-1024, SHA-256 f2c4746f...b0e6f711.
    private static let softwareRSAKey = """
        MIGfMA0GCSqGSIb3DQEBAQUAA4GNADCBiQKBgQCia63rbi5EYe/VDoLmt5TRdSMfd5tjkWP/96r/C3JHTsAsQ+wzfNes7UA+
        jCigZtX3hwszl94OuE4TQKuvpSe/lWmgMdsGUmX4RFlXYfC78hdLt0GAZMAoDo9Sd47b0ke2RekZyOmLw9vCkT/X11DEHTVm
        +Vfkl5YLCazOkjWFmwIDAQAB
        """
}
