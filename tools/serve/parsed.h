/* SPDX-License-Identifier: GPL-2.0-only */
/* The terms that the parsers of all protocols share. */
#ifndef HBSERVE_PARSED_H
#define HBSERVE_PARSED_H

#include <stddef.h>

/* A word of a line, or an argument of a request. */
struct word {
	const char *at;
	size_t len;
};

enum parsed {
	PARSED_REQUEST,		/* a request */
	PARSED_PART,		/* the request is not whole: more bytes are needed */
	PARSED_CLOSE,		/* the connection is to be closed */
	PARSED_LATER,		/* the batch has to be carried out first */
};

#endif /* HBSERVE_PARSED_H */
