/* SPDX-License-Identifier: BSD-2-Clause */
/* What commands for pools and those for a whole machine share. */
#ifndef CONTROL_POOLS_H
#define CONTROL_POOLS_H

#include "hypervisor.h"
#include "text.h"

/* What a pool of ours says about itself; ends the program if it does not. */
struct xen_sysctl_hyperperiod ask_info(const struct pool *pool);

/* Whether the rules go together, here rather than by an error number of the hypervisor. */
void check_policy(const char *text, struct hp_policy rules, bool global);
/* Whether all pcpus decide together: what the scope says, or if it is any the policy; ends the
 * program if the two say different things. */
bool is_global(const struct word_policy *policy, enum word_scope scope, const char *what);

int write_policy(uint32_t pool, struct hp_policy rules, bool global);
/* Ends the program unless each of these pcpus is in `own`, free, or in Pool-0. */
void check_available(const uint8_t wanted[MAX_PCPUS / 8], const uint8_t own[MAX_PCPUS / 8],
                     const char *what);
/* Ends the program if Pool-0 has no other pcpu than these. */
void check_rest(const uint8_t wanted[MAX_PCPUS / 8], const char *what);

/* Adds a pcpu, taking it from Pool-0 if it is there. */
int gain_pcpu(uint32_t pool, uint32_t pcpu);
/* A new pool with these pcpus; what was begun is undone if it cannot be. */
int make_pool(struct hp_policy rules, bool global, const uint8_t pcpus[MAX_PCPUS / 8],
              uint32_t *id);

/* Why a server was not set. */
const char *set_reason(int error);

#endif
