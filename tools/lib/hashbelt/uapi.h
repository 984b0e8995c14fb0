/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The interface of /dev/hashbelt for programs in the source tree. `make install` installs
 * hashbelt.h itself under this name.
 */
#include "../../../hashbelt.h"
