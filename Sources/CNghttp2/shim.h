// SPDX-License-Identifier: Apache-2.0
// Status values of nghttp2 that are anonymous enumerators, under names of one C type each.
#pragma once
#include <nghttp2/nghttp2.h>

static const int hid_h2_deferred = NGHTTP2_ERR_DEFERRED;
static const int hid_h2_bad_preface = NGHTTP2_ERR_BAD_CLIENT_MAGIC;
static const int hid_h2_flooded = NGHTTP2_ERR_FLOODED;
