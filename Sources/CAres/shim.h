// SPDX-License-Identifier: Apache-2.0
// c-ares; what its macros hide from Swift.
#pragma once
// First, so that the socket types stay those of that module.
#include "../CLinux/shim.h"
#include <ares.h>

static const int hid_ares_success = ARES_SUCCESS;
static const int hid_ares_library_all = ARES_LIB_INIT_ALL;
static const int hid_ares_socket_bad = ARES_SOCKET_BAD;
static const int hid_ares_no_sort = ARES_AI_NOSORT;
static const int hid_ares_options =
    ARES_OPT_TIMEOUTMS | ARES_OPT_TRIES | ARES_OPT_SOCK_STATE_CB | ARES_OPT_LOOKUPS;
