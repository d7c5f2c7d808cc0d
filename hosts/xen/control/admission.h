/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Admission: whether the servers of a pool are promised more time than there is.
 *
 * Each pcpu of a partitioned pool has 1 to give, to the vcpus that belong to it; a global pool has
 * one for each pcpu, to all vcpus together, and no server may have more than one. That is what
 * must hold for anybody to get his budget; whether everybody does is for `hyperperiod analyze` to
 * say. Vcpus that are switched off count: they may be switched on.
 */
#ifndef CONTROL_ADMISSION_H
#define CONTROL_ADMISSION_H

#include <stdio.h>

#include "hypervisor.h"
#include "load.h"

/* A vcpu in a pool. */
struct member {
    uint32_t domain, vcpu;
    uint32_t pcpu; /* that it belongs to, under a partitioned policy */
    struct share share;
};

struct members {
    struct member *list;
    unsigned int count;
};

/* All vcpus of the pool with what they are promised now; to be freed. */
struct members find_members(const struct pool *pool);
void add_member(struct members *members, struct member member);
void free_members(struct members *members);

/* A part of a pool that is scheduled by itself, and what has been promised of its time. */
struct load {
    uint8_t pcpus[MAX_PCPUS / 8];
    unsigned int pcpu_count, servers;
    uint64_t ppm;
    bool overbooked;
};

/*
 * The load of the first part from this pcpu on, or, if the pool is global, of all of it. False
 * if there is none; else `next` is where to go on.
 */
bool find_load(const struct pool *pool, bool global, const struct members *members, uint32_t from,
               struct load *load, uint32_t *next);

/* The first part that is overbooked. */
bool find_overbooked(const struct pool *pool, bool global, const struct members *members,
                     struct load *load);

/* "85.0 %", and whose time it is: "85.0 % of pcpu 1", "170.0 % of 200 %, pcpus 1-2". */
void print_load(FILE *to, const struct load *load, bool global);
void print_json_load(const struct load *load);
/* As print_load; the text stays until the next call. */
const char *load_text(const struct load *load, bool global);

#endif
