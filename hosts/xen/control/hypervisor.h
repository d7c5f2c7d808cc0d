/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The hypercalls that the tool makes, as functions. Each returns 0 or the error that Xen gave,
 * as a positive errno.
 */
#ifndef CONTROL_HYPERVISOR_H
#define CONTROL_HYPERVISOR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define __XEN_TOOLS__ 1
#include <xen/domctl.h>
#include <xen/sysctl.h>

#include "hosts/xen/public.h"

#define MAX_PCPUS 256u

struct pool {
    uint32_t id;
    uint32_t scheduler;
    uint32_t domains;
    uint8_t pcpus[MAX_PCPUS / 8];
};

struct domain {
    uint32_t id;
    uint32_t pool;
    uint32_t vcpus; /* those it was created with */
};

/* Ends the program, with what to do, where there is no hypervisor to talk to. */
void open_hypervisor(void);

/* Memory that a hypercall may point to; kept until the program ends. */
void *shared_memory(size_t bytes);

/* The first pool with this number or a higher one. */
int find_pool(uint32_t from, struct pool *pool);
/* The pcpus that no pool has. */
int free_pcpus(uint8_t pcpus[MAX_PCPUS / 8]);
int create_pool(uint32_t *id, uint32_t scheduler);
int destroy_pool(uint32_t id);
int add_pcpu(uint32_t pool, uint32_t pcpu);
int remove_pcpu(uint32_t pool, uint32_t pcpu);
int move_domain(uint32_t domain, uint32_t pool);

/* The first domain with this number or a higher one. */
int find_domain(uint32_t from, struct domain *domain);
/* The pcpu that a vcpu ran on last, or belongs to. */
int find_pcpu(uint32_t domain, uint32_t vcpu, uint32_t *pcpu);
/* Both count: a domain runs again when it was released as often as it was held. */
int hold_domain(uint32_t domain);
int release_domain(uint32_t domain);

/* What the scheduler of a pool is told or asked; see hosts/xen/public.h. */
int tell_pool(uint32_t pool, struct xen_sysctl_hyperperiod *what);
int ask_pool(uint32_t pool, struct xen_sysctl_hyperperiod *what);

/* The server of one vcpu, or of all of a domain (vcpu ALL_VCPUS). */
#define ALL_VCPUS 0xffffffffu
int set_server(uint32_t domain, uint32_t vcpu, const struct xen_domctl_sched_hyperperiod *server);
int get_server(uint32_t domain, uint32_t vcpu, struct xen_domctl_sched_hyperperiod *server);

/* What the hypervisor says about itself; empty if it says nothing. */
struct about {
    uint32_t major, minor;
    char extra[16];           /* the rest of its version */
    char capabilities[1024];  /* "xen-3.0-x86_64 hvm-3.0-x86_32 ..." */
    char command_line[1024];
};
void ask_about(struct about *about);
/* How many idle states a pcpu has; an error where Xen has no choice of them. */
int count_idle_states(uint32_t pcpu, uint32_t *count);

static inline bool has_pcpu(const uint8_t pcpus[MAX_PCPUS / 8], uint32_t pcpu) {
    return pcpu < MAX_PCPUS && (pcpus[pcpu / 8] >> pcpu % 8 & 1) != 0;
}

#endif
