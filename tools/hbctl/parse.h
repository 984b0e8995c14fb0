/* SPDX-License-Identifier: GPL-2.0-only */
/* The words of a command line as options and operands. */
#ifndef HBCTL_PARSE_H
#define HBCTL_PARSE_H

#include "command.h"

enum status parse(struct request *request, int argc, char **argv);
const char *dash_hint(const struct request *request);

#endif /* HBCTL_PARSE_H */
