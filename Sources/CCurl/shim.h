// SPDX-License-Identifier: Apache-2.0
// libcurl's setopt and getinfo are variadic: one door for each kind of argument.
// The parentheses keep the type-checking macros of the same name from expanding.
#pragma once
#include <curl/curl.h>

static inline CURLcode hid_curl_set_long(CURL *easy, CURLoption option, long value) {
    return (curl_easy_setopt)(easy, option, value);
}
static inline CURLcode hid_curl_set_string(CURL *easy, CURLoption option, const char *value) {
    return (curl_easy_setopt)(easy, option, value);
}
static inline CURLcode hid_curl_set_pointer(CURL *easy, CURLoption option, void *value) {
    return (curl_easy_setopt)(easy, option, value);
}
typedef size_t (*hid_curl_write)(char *bytes, size_t size, size_t count, void *context);
static inline CURLcode hid_curl_set_write(CURL *easy, CURLoption option, hid_curl_write function) {
    return (curl_easy_setopt)(easy, option, function);
}
static inline CURLcode hid_curl_get_long(CURL *easy, CURLINFO info, long *value) {
    return (curl_easy_getinfo)(easy, info, value);
}
static inline CURLcode hid_curl_get_socket(CURL *easy, curl_socket_t *value) {
    return (curl_easy_getinfo)(easy, CURLINFO_ACTIVESOCKET, value);
}
typedef int (*hid_curl_socket_function)(CURL *easy, curl_socket_t fd, int what, void *context, void *slot);
static inline CURLMcode hid_curl_multi_set_socket(CURLM *multi, hid_curl_socket_function function) {
    return (curl_multi_setopt)(multi, CURLMOPT_SOCKETFUNCTION, function);
}
typedef int (*hid_curl_timer_function)(CURLM *multi, long milliseconds, void *context);
static inline CURLMcode hid_curl_multi_set_timer(CURLM *multi, hid_curl_timer_function function) {
    return (curl_multi_setopt)(multi, CURLMOPT_TIMERFUNCTION, function);
}
static inline CURLMcode hid_curl_multi_set_pointer(CURLM *multi, CURLMoption option, void *value) {
    return (curl_multi_setopt)(multi, option, value);
}
static inline CURLMcode hid_curl_multi_set_long(CURLM *multi, CURLMoption option, long value) {
    return (curl_multi_setopt)(multi, option, value);
}
/// The result of a finished transfer; a message that is not DONE reads as CURLE_OK with `done` 0.
static inline CURLcode hid_curl_message_result(const CURLMsg *message, int *done) {
    *done = message->msg == CURLMSG_DONE;
    return *done ? message->data.result : CURLE_OK;
}
static const long hid_curl_global_all = CURL_GLOBAL_ALL;
