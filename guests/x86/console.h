/* SPDX-License-Identifier: BSD-2-Clause */
/* Lines on the guest's console, which dom0 logs. */
#ifndef GUEST_X86_CONSOLE_H
#define GUEST_X86_CONSOLE_H

#include <stdint.h>

#include <xen/xen.h>

void open_console(const struct start_info *info);
void put_text(const char *text);
void put_value(const char *name, uint64_t value); /* " name=value" */
void end_line(void);

#endif
