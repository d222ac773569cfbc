// SPDX-License-Identifier: Apache-2.0
// Kernel interfaces that Swift's Glibc module leaves out.
#pragma once
#include <malloc.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/un.h>

static const unsigned hid_epoll_edge = EPOLLET;
static const unsigned hid_epoll_in = EPOLLIN;
static const unsigned hid_epoll_out = EPOLLOUT;
static const unsigned hid_epoll_hangup = EPOLLHUP;
static const unsigned hid_epoll_error = EPOLLERR;
static const unsigned hid_epoll_read_hangup = EPOLLRDHUP;
static const int hid_epoll_cloexec = EPOLL_CLOEXEC;
static const int hid_eventfd_flags = EFD_CLOEXEC | EFD_NONBLOCK;
static const int hid_accept_flags = SOCK_NONBLOCK | SOCK_CLOEXEC;

/// accept4: glibc declares it only under _GNU_SOURCE, which Swift's importer does not set.
int accept4(int fd, struct sockaddr *address, socklen_t *length, int flags);
