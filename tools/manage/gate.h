/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The device, closed to all programs but this one while the module is exchanged: no program sees a
 * belt before its entries are there.
 */
#ifndef MANAGE_GATE_H
#define MANAGE_GATE_H

#include "command.h"

enum status gate_lock(void);
enum status gate_close(struct request *request);
enum status gate_open_device(struct request *request);
bool gate_is_left(long users);
int gate_remove_module(void);
int gate_note(const char *path);
bool gate_noted(char *path, size_t size);
void gate_hold(void);
void gate_open(void);

#endif /* MANAGE_GATE_H */
