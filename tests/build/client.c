// SPDX-License-Identifier: GPL-2.0-only
/*
 * client.c - a program that uses the installed libhashbelt, in C and in C++. It needs no device:
 * it prints what the library does without one.
 */
#include <errno.h>
#include <stdio.h>

#include <hashbelt/client.h>
#include <hashbelt/uapi.h>

int main(void)
{
	struct hashbelt_item item = hashbelt_item(HASHBELT_OP_PUT, "key", 3, "value", 5);
	char text[HASHBELT_ERROR_SIZE];
	struct hashbelt *belt;
	int err = hashbelt_open("/nonexistent", &belt);

	printf("%s, handle %s\n", err == -ENOENT ? "ENOENT" : "no ENOENT", belt ? "made" : "NULL");
	puts(hashbelt_strerror(belt, err, HASHBELT_CALL_OPEN, "/nonexistent", text, sizeof(text)));
	err = hashbelt_open("/dev/null", &belt);
	puts(hashbelt_strerror(belt, err, HASHBELT_CALL_OPEN, "/dev/null", text, sizeof(text)));
	printf("a key of %u bytes, a value of %u\n", item.key_len, item.value_len);
	hashbelt_close(belt);
	return 0;
}
