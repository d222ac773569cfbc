// SPDX-License-Identifier: Apache-2.0
// What Swift cannot see of OpenSSL: macros and deprecated-but-chosen EC_KEY calls.
#pragma once
#define OPENSSL_SUPPRESS_DEPRECATED 1
#include <openssl/bio.h>
#include <openssl/bn.h>
#include <openssl/core_names.h>
#include <openssl/crypto.h>
#include <openssl/ec.h>
#include <openssl/ecdsa.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/params.h>
#include <openssl/pem.h>
#include <openssl/rand.h>
#include <openssl/sha.h>
#include <openssl/ssl.h>
#include <openssl/x509.h>
#include <openssl/x509_vfy.h>
#include <openssl/x509v3.h>

static const uint64_t hid_ssl_op_no_compression = SSL_OP_NO_COMPRESSION;
static const uint64_t hid_ssl_op_no_renegotiation = SSL_OP_NO_RENEGOTIATION;
static const uint64_t hid_ssl_op_server_preference = SSL_OP_CIPHER_SERVER_PREFERENCE | SSL_OP_PRIORITIZE_CHACHA;
static const unsigned long hid_x509_name_flags = XN_FLAG_RFC2253 & ~ASN1_STRFLGS_ESC_MSB;
