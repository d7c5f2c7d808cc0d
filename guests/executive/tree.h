/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Reads a flattened device tree as far as a guest needs one: a property of /chosen. A tree that
 * is cut off or damaged has no properties; nothing outside of it is read.
 */
#ifndef GUESTS_TREE_H
#define GUESTS_TREE_H

#include "core/env.h"

struct tree_value {
    const hp_u8 *bytes; /* a null pointer: there is none */
    hp_u32 length;
};

struct tree_value tree_chosen(const void *tree, const char *property);
/* A number of one or two cells; 0 if it is neither. */
hp_u64 tree_number(struct tree_value value);

#endif /* GUESTS_TREE_H */
