// SPDX-License-Identifier: BSD-2-Clause
/*
 * A word of digits is a number, everything else a name. xl keeps a domain's name at
 * /local/domain/N/name and a pool's at /local/pool/N/name.
 */
#include "names.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "store.h"
#include "text.h"

#define LONGEST_NAME 256u

/* The name, in memory that the next name of the kind takes. */
static const char *name_at(const char *kind, uint32_t id, char name[LONGEST_NAME]) {
    char path[64];
    snprintf(path, sizeof(path), "/local/%s/%u/name", kind, id);
    char *found = store_read(path);
    if (found == NULL)
        return NULL;
    snprintf(name, LONGEST_NAME, "%s", found);
    free(found);
    return name;
}

const char *pool_name(uint32_t id) {
    static char kept[LONGEST_NAME];
    const char *name = name_at("pool", id, kept);
    return name == NULL && id == 0 ? "Pool-0" : name;
}

const char *domain_name(uint32_t id) {
    static char kept[LONGEST_NAME];
    return name_at("domain", id, kept);
}

static bool is_name(const char *word, const char *name) {
    return name != NULL && strcmp(word, name) == 0;
}

struct domain domain_named(const char *word) {
    struct domain domain;
    hp_u64 number;
    bool by_number = word_number(word_of(word), UINT32_MAX, &number);
    /* Numbers of domains have 16 bits, and the highest ones are Xen's own. */
    for (uint32_t from = 0; from < DOMID_FIRST_RESERVED && find_domain(from, &domain) == 0;
         from = domain.id + 1)
        if (by_number ? domain.id == number : is_name(word, domain_name(domain.id)))
            return domain;
    fail(BAD_INPUT, "found no domain '%s'; allowed: a number or name that `xl list` shows", word);
}

struct pool pool_named(const char *word) {
    struct pool pool;
    hp_u64 number;
    bool by_number = word_number(word_of(word), UINT32_MAX, &number);
    for (uint32_t from = 0; find_pool(from, &pool) == 0; from = pool.id + 1)
        if (by_number ? pool.id == number : is_name(word, pool_name(pool.id)))
            return pool;
    fail(BAD_INPUT, "found no pool '%s'; allowed: a number, or a name that `xl cpupool-list` shows",
         word);
}

struct pool own_pool_named(const char *word) {
    struct pool pool = pool_named(word);
    if (pool.scheduler != XEN_SCHEDULER_HYPERPERIOD)
        fail(BAD_INPUT, "pool '%s' has scheduler %u; allowed: a pool with scheduler %u, "
                        "hyperperiod (`hyperperiod-xen pool-create` makes one)",
             word, pool.scheduler, XEN_SCHEDULER_HYPERPERIOD);
    return pool;
}

bool domain_with_name(const char *name, struct domain *domain) {
    for (uint32_t from = 0; from < DOMID_FIRST_RESERVED && find_domain(from, domain) == 0;
         from = domain->id + 1)
        if (is_name(name, domain_name(domain->id)))
            return true;
    return false;
}

bool pool_with_name(const char *name, struct pool *pool) {
    for (uint32_t from = 0; find_pool(from, pool) == 0; from = pool->id + 1)
        if (is_name(name, pool_name(pool->id)))
            return true;
    return false;
}

static void write_entry(uint32_t id, const char *entry, const char *value) {
    char path[64];
    snprintf(path, sizeof(path), "/local/pool/%u/%s", id, entry);
    if (!store_write(path, value))
        warn("cannot write %s to xenstore: xl will not know the pool's name", path);
}

void name_pool(uint32_t id, const char *name) {
    char uuid[64];
    if (!store_there()) {
        warn("no xenstore: the pool is known by its number, %u, only", id);
        return;
    }
    /* xl asks for an identifier too; nothing looks at what it is. */
    snprintf(uuid, sizeof(uuid), "00000000-0000-4000-8000-%012x", id);
    write_entry(id, "uuid", uuid);
    write_entry(id, "name", name);
}

void forget_pool(uint32_t id) {
    char path[64];
    snprintf(path, sizeof(path), "/local/pool/%u", id);
    store_remove(path);
}
