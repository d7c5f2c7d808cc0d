/* SPDX-License-Identifier: BSD-2-Clause */
/* Messages to the user, and how the program ends by one. */
#ifndef CONTROL_MESSAGE_H
#define CONTROL_MESSAGE_H

/* Exit codes. */
enum { DONE = 0, REFUSED = 1, BAD_INPUT = 2, LACKS = 3 };

_Noreturn void fail(int code, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* As fail, for a program that goes on. */
void complain(const char *format, ...) __attribute__((format(printf, 1, 2)));
void warn(const char *format, ...) __attribute__((format(printf, 1, 2)));
/* Messages are about this line of a file from now on; NULL: about no file. */
void set_place(const char *path, unsigned int line);
/* What an errno from Xen means for schedulers and pools. */
const char *reason(int error);

#endif
