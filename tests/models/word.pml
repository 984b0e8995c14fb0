/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The atomic word of belt/ground/wheel.h, in one byte. The highest bit is set when the node is
 * claimed. The next four bits are one of sixteen times, the lowest three the reason. Times
 * are multiples of HB_GRAIN, as deadlines are.
 */
#define HB_GRAIN	8
#define HB_SEALED	1
#define HB_CLAIMED	128
#define HB_REASON	7
#define HB_TIME		120

#define EXPIRED		1
#define REPLACED	3
#define REMOVED		4
#define CLEARED		5
#define RELEASED	7

#define IS_CLAIMED(word)	((word) >= HB_CLAIMED)
#define REASON_OF(word)		((word) & HB_REASON)
#define BIT(number)		(1 << (number))

/* hb_deadline(): rounds a sealed word up. (No "->": spin does not accept it in inlines.) */
#define DEADLINE_OF(word) \
	(((word) + HB_REASON * ((word) < HB_CLAIMED)) & HB_TIME)
#define AS_CLAIMED(word, why)	(HB_CLAIMED | DEADLINE_OF(word) | (why))

/* A signed number that is claimed is earlier than any time. */
#define IS_REACHED(word, now)	(IS_CLAIMED(word) || (word) <= (now))
#define IS_DUE(word, now) \
	(!IS_CLAIMED(word) && ((word) <= (now) || ((word) & HB_SEALED)))
