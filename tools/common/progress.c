// SPDX-License-Identifier: GPL-2.0-only
#include <stdio.h>
#include <time.h>
#include <unistd.h>

#include "bar.h"
#include "progress.h"

/* Columns of the bar, and the least time between two drawings. */
#define BAR_WIDTH	40
#define BAR_MS		100

static __u64 now_ms(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec * 1000ULL + now.tv_nsec / 1000000;
}

static void draw(struct progress *progress, __u64 done, __u64 entries)
{
	__u64 total = progress->total;
	int taken;

	progress->drawn_ms = now_ms();
	if (!total) {
		fprintf(stderr, "\r%llu %s", entries, progress->unit);
		return;
	}
	/* A file may grow while it is read, and a belt while it is scanned. */
	done = done < total ? done : total;
	fputs("\r[", stderr);
	taken = bar_draw(stderr, done, total, BAR_WIDTH);
	for (; taken < BAR_WIDTH; taken++)
		putc('.', stderr);
	fprintf(stderr, "] %3d%%  %llu %s", (int)((double)done / total * 100), entries,
		progress->unit);
}

/**
 * progress_begin() - begin to show progress, if standard error is a terminal
 * @progress:	filled in
 * @total:	the whole work; 0 if that is not known
 */
void progress_begin(struct progress *progress, __u64 total)
{
	*progress = (struct progress){
		.total = total,
		.unit = "entries",
		.is_shown = isatty(STDERR_FILENO),
	};
}

/**
 * progress_step() - draw the progress, unless the present line is recent
 * @progress:	from progress_begin()
 * @done:	the part of the whole work that is done
 * @entries:	the number of entries that are dealt with
 */
void progress_step(struct progress *progress, __u64 done, __u64 entries)
{
	if (progress->is_shown && now_ms() - progress->drawn_ms >= BAR_MS)
		draw(progress, done, entries);
}

/**
 * progress_erase() - clear the line for an error message
 * @progress:	from progress_begin()
 */
void progress_erase(struct progress *progress)
{
	if (progress->drawn_ms)
		fputs("\r\033[K", stderr);
	progress->drawn_ms = 0;
}

/**
 * progress_end() - draw the whole work as done, and end the line
 * @progress:	from progress_begin()
 * @entries:	the number of entries that were dealt with
 */
void progress_end(struct progress *progress, __u64 entries)
{
	if (!progress->is_shown)
		return;
	draw(progress, progress->total, entries);
	putc('\n', stderr);
}
