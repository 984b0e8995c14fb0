// SPDX-License-Identifier: GPL-2.0-only
/*
 * spin - a task that never pauses. An emulator that counts instructions takes little time for those
 * that do nothing, and much for each loop.
 */
int main(void)
{
	for (;;)
		asm volatile(".rept 500\n nop\n .endr");
}
