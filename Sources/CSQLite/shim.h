// SPDX-License-Identifier: Apache-2.0
// SQLITE_TRANSIENT is a macro with a cast that Swift cannot see.
#pragma once
#include <sqlite3.h>

static inline int hid_sqlite_bind_text(sqlite3_stmt *statement, int index, const char *text, int count) {
    return sqlite3_bind_text(statement, index, text, count, SQLITE_TRANSIENT);
}
static inline int hid_sqlite_bind_blob(sqlite3_stmt *statement, int index, const void *octets, int count) {
    return sqlite3_bind_blob(statement, index, octets, count, SQLITE_TRANSIENT);
}
