/* SPDX-License-Identifier: BSD-2-Clause */
/* xenstore, in which xl keeps the names of domains and pools, and which says when domains come. */
#ifndef CONTROL_STORE_H
#define CONTROL_STORE_H

#include <stdbool.h>
#include <stdint.h>

/* Whether there is one to talk to. */
bool store_there(void);
/* The value, to be freed; NULL if there is none. */
char *store_read(const char *path);
bool store_write(const char *path, const char *value);
void store_remove(const char *path);

/* Whether the toolstack has made the domain to its end and announced it. */
bool store_introduced(uint32_t domain);

/* From now on domains that come and go are noticed. False: they cannot be. */
bool store_watch_domains(void);
/* Waits until one came or went since; false if none will be noticed any more. */
bool store_wait(void);

#endif
