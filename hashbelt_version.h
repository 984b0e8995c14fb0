/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The version of the module, the tools, the library and the packages. The makefiles read it from
 * this file. `make check` compares debian/changelog and hashbelt.spec with it.
 */
#ifndef HASHBELT_VERSION_H
#define HASHBELT_VERSION_H

#define HASHBELT_VERSION	"0.2.0"

#endif
