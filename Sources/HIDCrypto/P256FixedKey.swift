// SPDX-License-Identifier: Apache-2.0
import COpenSSL

/// A public key with a table of its multiples, for an issuer's key that verifies every token.
///
/// OpenSSL has a table for the generator G of P-256 only. Here a second EC_GROUP takes the key Q as its generator and
/// gets a table as well, so that both products of u1 G + u2 Q are cheap. All
/// arithmetic is OpenSSL's. Making one costs about 30 ms and 150 KiB; never mutated after `init`, and OpenSSL only
/// reads both groups, so any thread may call `verify`.
@safe final class P256FixedKey: @unchecked Sendable {
    private let base: OpaquePointer  // EC_GROUP of P-256, owned: freed in deinit
    private let keyed: OpaquePointer  // EC_GROUP with the key as generator, owned: freed in deinit
    private let order: OpaquePointer  // BIGNUM n, owned by base
    private let field: OpaquePointer  // BIGNUM p, owned by base

    /// Builds the table; nil when OpenSSL refuses or when the first verifications disagree with plain ones.
    init?(point: [UInt8], checkedBy plain: P256Key) {
        guard let base = unsafe EC_GROUP_new_by_curve_name(NID_X9_62_prime256v1) else { return nil }
        guard let keyed = unsafe EC_GROUP_new_by_curve_name(NID_X9_62_prime256v1) else {
            unsafe EC_GROUP_free(base)
            return nil
        }
        guard let order = unsafe EC_GROUP_get0_order(base), let field = unsafe EC_GROUP_get0_field(base) else {
            unsafe EC_GROUP_free(base)
            unsafe EC_GROUP_free(keyed)
            return nil
        }
        unsafe (self.base, self.keyed, self.order, self.field) = (base, keyed, order, field)
        guard setGenerator(point), passesSelfTest(plain) else {
            OpenSSLErrors.clear()
            return nil
        }
    }

    deinit {
        unsafe EC_GROUP_free(base)
        unsafe EC_GROUP_free(keyed)
    }

    private func setGenerator(_ bytes: [UInt8]) -> Bool {
        guard let point = unsafe EC_POINT_new(keyed) else { return false }
        defer { unsafe EC_POINT_free(point) }
        return unsafe EC_POINT_oct2point(keyed, point, bytes, bytes.count, nil) == 1
            && EC_GROUP_set_generator(keyed, point, order, BN_value_one()) == 1
            && EC_GROUP_precompute_mult(keyed, nil) == 1
            && EC_GROUP_have_precompute_mult(keyed) == 1
    }

    /// Verifies 64 octets r then s over a 32-octet digest.
    func verify(digest: Span<UInt8>, signature: Span<UInt8>) -> Bool {
        guard digest.count == 32, ECDSASignature.fault(ofRaw: signature) == nil,
            let scratch = unsafe FixedKeyScratch(base)
        else { return false }
        let isLoaded =
            unsafe scratch.load(digest, scratch.z)
            && scratch.load(signature.extracting(0..<32), scratch.r)
            && scratch.load(signature.extracting(32..<64), scratch.s)
        guard isLoaded else { return false }
        // FIPS 186-5 section 6.4.2: u1 = z / s, u2 = r / s, and r is the x of u1 G + u2 Q, modulo n.
        let isComputed =
            unsafe BN_mod_inverse(scratch.s, scratch.s, order, scratch.context) != nil
            && BN_mod_mul(scratch.u1, scratch.z, scratch.s, order, scratch.context) == 1
            && BN_mod_mul(scratch.u2, scratch.r, scratch.s, order, scratch.context) == 1
        let isValid = isComputed && sum(scratch) && hasExpectedX(scratch)
        if !isValid { OpenSSLErrors.clear() }
        return isValid
    }

    /// Sets `first` to u1 G + u2 Q; false at infinity.
    private func sum(_ scratch: FixedKeyScratch) -> Bool {
        unsafe EC_POINT_mul(base, scratch.first, scratch.u1, nil, nil, scratch.context) == 1
            && EC_POINT_mul(keyed, scratch.second, scratch.u2, nil, nil, scratch.context) == 1
            && EC_POINT_add(base, scratch.first, scratch.first, scratch.second, scratch.context) == 1
            && EC_POINT_is_at_infinity(base, scratch.first) == 0
    }

    /// Whether the x coordinate of `first` is r modulo n.
    ///
    /// x is X / Z^2; multiplying r by Z^2 saves the division. x lies below p, so it may also be r + n if that does.
    private func hasExpectedX(_ scratch: FixedKeyScratch) -> Bool {
        let (context, square, product) = unsafe (scratch.context, scratch.u1, scratch.u2)
        let isRead =
            unsafe EC_POINT_get_Jprojective_coordinates_GFp(base, scratch.first, scratch.x, nil, scratch.z, context)
            == 1
            && BN_mod_sqr(square, scratch.z, field, context) == 1
            && BN_mod_mul(product, scratch.r, square, field, context) == 1
        guard isRead else { return false }
        if unsafe BN_cmp(product, scratch.x) == 0 { return true }
        guard unsafe BN_add(scratch.r, scratch.r, order) == 1, unsafe BN_cmp(scratch.r, field) < 0 else { return false }
        return unsafe BN_mod_mul(product, scratch.r, square, field, context) == 1 && BN_cmp(product, scratch.x) == 0
    }

    /// Compares with plain verification on pairs of digest and signature made for this key, right ones and wrong ones.
    private func passesSelfTest(_ plain: P256Key) -> Bool {
        guard let verifier = try? SignatureScratch() else { return false }
        for _ in 0..<8 {
            guard var (digest, signature) = matchingPair() else { return false }
            guard verify(digest: digest.span, signature: signature.span),
                verifier.verify(digest: digest.span, signature: signature.span, key: plain)
            else { return false }
            digest[31] ^= 1
            guard !verify(digest: digest.span, signature: signature.span) else { return false }
            digest[31] ^= 1
            signature[40] ^= 1
            guard !verify(digest: digest.span, signature: signature.span) else { return false }
        }
        return true
    }

    /// A digest and a signature that belong together, without the private key.
    ///
    /// Any u1 and u2 give r = x(u1 G + u2 Q), s = r / u2 and z = s u1: of no use to a forger, who cannot choose z.
    private func matchingPair() -> (digest: [UInt8], signature: [UInt8])? {
        guard let scratch = unsafe FixedKeyScratch(base) else { return nil }
        let isMade =
            unsafe BN_rand_range(scratch.u1, order) == 1
            && BN_rand_range(scratch.u2, order) == 1
            && sum(scratch)
            && EC_POINT_get_affine_coordinates(base, scratch.first, scratch.x, nil, scratch.context) == 1
            && BN_nnmod(scratch.x, scratch.x, order, scratch.context) == 1
            && BN_mod_inverse(scratch.r, scratch.u2, order, scratch.context) != nil
            && BN_mod_mul(scratch.s, scratch.x, scratch.r, order, scratch.context) == 1
            && BN_mod_mul(scratch.z, scratch.s, scratch.u1, order, scratch.context) == 1
        guard isMade else { return nil }
        var (z, r, s) = (
            [UInt8](repeating: 0, count: 32), [UInt8](repeating: 0, count: 32), [UInt8](repeating: 0, count: 32)
        )
        let isWritten =
            unsafe BN_bn2binpad(scratch.z, &z, 32) == 32 && BN_bn2binpad(scratch.x, &r, 32) == 32
            && BN_bn2binpad(scratch.s, &s, 32) == 32
        return isWritten ? (z, r + s) : nil
    }
}

/// The numbers and points of one verification.
@safe private final class FixedKeyScratch {
    let context: OpaquePointer  // BN_CTX, owned: freed in deinit, and the numbers with it
    let first: OpaquePointer  // EC_POINT, owned
    let second: OpaquePointer  // EC_POINT, owned
    let z: OpaquePointer
    let r: OpaquePointer
    let s: OpaquePointer
    let u1: OpaquePointer
    let u2: OpaquePointer
    let x: OpaquePointer

    init?(_ group: OpaquePointer) {
        let (context, first, second) = unsafe (BN_CTX_new(), EC_POINT_new(group), EC_POINT_new(group))
        unsafe BN_CTX_start(context)
        // BN_CTX_get goes on answering nil once it has failed, so the last answer speaks for all.
        let (z, r, s, u1, u2, x) = unsafe (
            BN_CTX_get(context), BN_CTX_get(context), BN_CTX_get(context), BN_CTX_get(context), BN_CTX_get(context),
            BN_CTX_get(context)
        )
        guard let context = unsafe context, let first = unsafe first, let second = unsafe second, let z = unsafe z,
            let r = unsafe r, let s = unsafe s, let u1 = unsafe u1, let u2 = unsafe u2, let x = unsafe x
        else {
            unsafe EC_POINT_free(first)
            unsafe EC_POINT_free(second)
            unsafe BN_CTX_free(context)
            return nil
        }
        unsafe (self.context, self.first, self.second) = (context, first, second)
        unsafe (self.z, self.r, self.s, self.u1, self.u2, self.x) = (z, r, s, u1, u2, x)
    }

    deinit {
        unsafe EC_POINT_free(first)
        unsafe EC_POINT_free(second)
        unsafe BN_CTX_end(context)
        unsafe BN_CTX_free(context)
    }

    /// Reads 32 big-endian octets into a number.
    func load(_ bytes: Span<UInt8>, _ number: OpaquePointer) -> Bool {
        unsafe bytes.withUnsafeBufferPointer { buffer in
            unsafe BN_bin2bn(buffer.baseAddress, 32, number) != nil
        }
    }
}
