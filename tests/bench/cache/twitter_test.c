// SPDX-License-Identifier: GPL-2.0-only
/* twitter_test - traces in the format of twitter/cache-trace. */
#include <string.h>

#include "../../device/tap.h"
#include "twitter.h"

static size_t read_text(const char *text, struct trace *trace)
{
	FILE *file = fmemopen((void *)text, strlen(text), "r");
	size_t bad = twitter_read(file, trace);

	fclose(file);
	return bad;
}

int main(void)
{
	struct trace trace;

	is_int(read_text("5,x,3,0,1,get,0\n6,x,3,10,1,set,60\n6,y,4,7,2,gets,0\n"
			 "7,x,3,0,1,get,0\n9,x,3,0,1,delete,0\n9,z,3,5,1,add,1\n", &trace), 0,
	       "a trace of twitter/cache-trace is read");
	is_int(trace.count, 6, "it has all requests");
	is_int(trace.keys, 3, "it has all keys");
	is_int(trace.requests[5].time, 4000, "its times begin with 0");
	is_int(trace.requests[0].ttl, 60000,
	       "a read before the first put has the life of that put");
	is_int(trace.requests[3].value_len, 10, "a read has the size of the put before");
	ok(trace.requests[2].ttl == 0 && trace.requests[2].value_len == 7,
	   "a read of a key that is never put has the size that it found, and no life");
	is_int(trace.requests[4].op, TRACE_REMOVE, "delete removes");
	is_int(trace.requests[5].op, TRACE_ADD, "add adds");
	trace_free(&trace);
	is_int(read_text("5,x,3,0,1,get,0\n5,x,3,0,1,look,0\n", &trace), 2,
	       "an unknown operation is found");
	is_int(read_text("5,x,3,0,1,get\n", &trace), 1, "a line with a field too few is found");
	is_int(read_text("5,x,3,0,1,get,0\n4,x,3,0,1,get,0\n", &trace), 2,
	       "a time that goes back is found");
	return done_testing();
}
