/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * System calls on a client's socket. The functions of the C library are points where a thread may
 * be cancelled, which takes 45 instructions more in a process with threads. No thread of hbserve is
 * cancelled.
 */
#ifndef HBSERVE_CALLS_H
#define HBSERVE_CALLS_H

#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

/**
 * call_recv() - recv(2) without flags
 * @fd:		the socket
 * @buffer:	memory
 * @size:	its size, bytes
 *
 * Return: the number of bytes, or -1 with errno.
 */
static inline ssize_t call_recv(int fd, void *buffer, size_t size)
{
	return syscall(SYS_recvfrom, fd, buffer, size, 0, NULL, NULL);
}

/**
 * call_send() - send(2) with MSG_NOSIGNAL
 * @fd:		the socket
 * @bytes:	the bytes
 * @len:	their number
 *
 * Return: the number of bytes, or -1 with errno.
 */
static inline ssize_t call_send(int fd, const void *bytes, size_t len)
{
	return syscall(SYS_sendto, fd, bytes, len, MSG_NOSIGNAL, NULL, 0);
}

#endif /* HBSERVE_CALLS_H */
