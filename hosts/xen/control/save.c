// SPDX-License-Identifier: BSD-2-Clause
/*
 * What is in force, as the file that brings it back: all pools of ours, and each vcpu of the
 * domains in them. Sections are in the order of their names, not of numbers, which another boot
 * gives anew: so a file that is applied and saved again is the same file.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "commands.h"
#include "file.h"
#include "names.h"
#include "pools.h"

/* A domain or a pool and its name, to be sorted by it. */
struct named {
    char *name;
    union {
        struct pool pool;
        struct domain domain;
    };
};

struct list {
    struct named *one;
    unsigned int count;
};

static struct named *append(struct list *list, const char *kind, uint32_t id, const char *name) {
    if (name == NULL || !writable_name(name))
        fail(REFUSED, "%s %u has no name that a file can have; `xl %s %u NAME` gives it one", kind,
             id, strcmp(kind, "pool") == 0 ? "cpupool-rename" : "rename", id);
    struct named *grown = realloc(list->one, (list->count + 1) * sizeof(*grown));
    if (grown == NULL)
        fail(LACKS, "no memory for %u names", list->count + 1);
    list->one = grown;
    struct named *last = &list->one[list->count++];
    last->name = strdup(name);
    if (last->name == NULL)
        fail(LACKS, "no memory for a name");
    return last;
}

static int by_name(const void *first, const void *second) {
    return strcmp(((const struct named *)first)->name, ((const struct named *)second)->name);
}

static void sort(struct list *list, const char *kind) {
    qsort(list->one, list->count, sizeof(*list->one), by_name);
    for (unsigned int i = 1; i < list->count; i++)
        if (strcmp(list->one[i - 1].name, list->one[i].name) == 0)
            fail(REFUSED, "two %ss are named '%s', and a file knows them by their names", kind,
                 list->one[i].name);
}

static void free_list(struct list *list) {
    for (unsigned int i = 0; i < list->count; i++)
        free(list->one[i].name);
    free(list->one);
}

static struct list own_pools(void) {
    struct list pools = {NULL, 0};
    struct pool pool;
    for (uint32_t from = 0; find_pool(from, &pool) == 0; from = pool.id + 1)
        if (pool.scheduler == XEN_SCHEDULER_HYPERPERIOD)
            append(&pools, "pool", pool.id, pool_name(pool.id))->pool = pool;
    if (pools.count > 0)
        sort(&pools, "pool");
    return pools;
}

static const struct named *pool_of(const struct list *pools, const struct domain *domain) {
    for (unsigned int i = 0; i < pools->count; i++)
        if (pools->one[i].pool.id == domain->pool)
            return &pools->one[i];
    return NULL;
}

static struct list own_domains(const struct list *pools) {
    struct list domains = {NULL, 0};
    struct domain domain;
    for (uint32_t from = 0; from < DOMID_FIRST_RESERVED && find_domain(from, &domain) == 0;
         from = domain.id + 1)
        if (pool_of(pools, &domain) != NULL)
            append(&domains, "domain", domain.id, domain_name(domain.id))->domain = domain;
    if (domains.count > 0)
        sort(&domains, "domain");
    return domains;
}

static void save_vcpu(FILE *to, const struct named *domain, uint32_t vcpu) {
    struct xen_domctl_sched_hyperperiod server;
    int error = get_server(domain->domain.id, vcpu, &server);
    if (error != 0)
        fail(REFUSED, "the servers of domain '%s' cannot be read: %s", domain->name, reason(error));
    write_vcpu(to, vcpu, &server);
}

static void save_all(FILE *to) {
    struct list pools = own_pools(), domains = own_domains(&pools);
    write_head(to);
    for (unsigned int i = 0; i < pools.count; i++) {
        struct xen_sysctl_hyperperiod info = ask_info(&pools.one[i].pool);
        write_pool(to, pools.one[i].name, &pools.one[i].pool, &info);
    }
    for (unsigned int i = 0; i < domains.count; i++) {
        const struct named *one = &domains.one[i];
        write_domain(to, one->name, pool_of(&pools, &one->domain)->name);
        for (uint32_t vcpu = 0; vcpu < one->domain.vcpus; vcpu++)
            save_vcpu(to, one, vcpu);
        save_vcpu(to, one, ALL_VCPUS);
    }
    free_list(&pools);
    free_list(&domains);
}

/* The whole text, to be freed. */
static char *saved_text(size_t *size) {
    char *text = NULL;
    FILE *memory = open_memstream(&text, size);
    if (memory == NULL)
        fail(LACKS, "no memory for the file");
    save_all(memory);
    if (fclose(memory) != 0)
        fail(LACKS, "no memory for the file");
    return text;
}

/* The file appears whole or not at all: there is always one to start with. */
static void write_whole(const char *path, const char *text, size_t size) {
    char draft[4096];
    if (snprintf(draft, sizeof(draft), "%s.XXXXXX", path) >= (int)sizeof(draft))
        fail(BAD_INPUT, "cannot write to %s: %s", path, strerror(ENAMETOOLONG));
    int handle = mkstemp(draft);
    if (handle < 0)
        fail(BAD_INPUT, "cannot write to %s: %s", path, strerror(errno));
    bool written = write(handle, text, size) == (ssize_t)size && fchmod(handle, 0644) == 0
                   && fsync(handle) == 0;
    if (close(handle) != 0 || !written || rename(draft, path) != 0) {
        int error = errno;
        unlink(draft);
        fail(REFUSED, "cannot write to %s: %s", path, strerror(error));
    }
}

int save(struct arguments *arguments) {
    const char *path = take_word(arguments, "file (- for the standard output)");
    take_no_more(arguments);
    open_hypervisor();
    size_t size;
    char *text = saved_text(&size);
    if (strcmp(path, "-") == 0)
        fwrite(text, 1, size, stdout);
    else
        write_whole(path, text, size);
    free(text);
    return DONE;
}
