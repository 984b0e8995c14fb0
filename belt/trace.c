// SPDX-License-Identifier: GPL-2.0
/* The trace points themselves: one file has to define them. */
#define CREATE_TRACE_POINTS
#include "trace.h"
