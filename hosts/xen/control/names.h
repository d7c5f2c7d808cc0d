/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Domains and pools by number or by name. Names are xl's: they live in xenstore, and without it
 * numbers still work.
 */
#ifndef CONTROL_NAMES_H
#define CONTROL_NAMES_H

#include "hypervisor.h"

/* What a word on the command line names; ends the program if there is no such thing. */
struct domain domain_named(const char *word);
struct pool pool_named(const char *word);
/* A pool with our scheduler. */
struct pool own_pool_named(const char *word);

/* The one that has this name, if there is one. */
bool domain_with_name(const char *name, struct domain *domain);
bool pool_with_name(const char *name, struct pool *pool);

/* The name, or NULL; it stays until the next one is asked for. */
const char *pool_name(uint32_t id);
const char *domain_name(uint32_t id);

/* Tells xl about a pool. */
void name_pool(uint32_t id, const char *name);
void forget_pool(uint32_t id);

#endif
