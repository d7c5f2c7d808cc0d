/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A system in a file: pools with their policies, and the servers of the domains in them, by name.
 * docs/formats.md has the format; `hyperperiod export --to xen-xl` and `save` write it, `apply`
 * reads it. What is read here is allowed as far as that can be said without a machine.
 */
#ifndef CONTROL_FILE_H
#define CONTROL_FILE_H

#include "hypervisor.h"
#include "text.h"

#define FILE_VERSION 1u

/* vcpu ALL_VCPUS: all that have no line of their own, and those to come. */
struct vcpu_line {
    unsigned int line;
    uint32_t vcpu;
    struct xen_domctl_sched_hyperperiod server;
};

struct domain_part {
    unsigned int line;
    char *name;
    char *pool_name;
    unsigned int pool; /* among the file's */
    struct vcpu_line *vcpus;
    unsigned int count;
};

struct pool_part {
    unsigned int line;
    char *name;
    char *policy;
    struct hp_policy rules;
    bool global;
    uint8_t pcpus[MAX_PCPUS / 8];
    uint64_t spare_budget_ns, spare_period_ns; /* a period of 0: nothing is said of it */
};

struct file {
    const char *path;
    struct pool_part *pools;
    unsigned int pool_count;
    struct domain_part *domains;
    unsigned int domain_count;
};

/* Reads and checks; ends the program with the place of the first mistake. */
struct file read_file(const char *path);
void free_file(struct file *file);

/* The line that is about a vcpu, or NULL. */
const struct vcpu_line *line_of(const struct domain_part *domain, uint32_t vcpu);

/* The beginning of a file, a pool, a domain, a vcpu's line, as `read_file` takes them. */
void write_head(FILE *to);
void write_pool(FILE *to, const char *name, const struct pool *pool,
                const struct xen_sysctl_hyperperiod *info);
void write_domain(FILE *to, const char *name, const char *pool_name);
void write_vcpu(FILE *to, uint32_t vcpu, const struct xen_domctl_sched_hyperperiod *server);
/* Whether a section can have this name. */
bool writable_name(const char *name);

#endif
