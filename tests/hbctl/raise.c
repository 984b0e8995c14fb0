// SPDX-License-Identifier: GPL-2.0-only
/*
 * raise COMMAND... - become root as a program with the setuid bit does, and run the command.
 */
#include <stdio.h>
#include <unistd.h>

int main(int argc, char **argv)
{
	if (argc < 2 || setuid(0)) {
		perror("raise");
		return 1;
	}
	execvp(argv[1], argv + 1);
	perror(argv[1]);
	return 127;
}
