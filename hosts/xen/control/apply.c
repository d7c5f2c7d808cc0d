// SPDX-License-Identifier: BSD-2-Clause
/*
 * A file is applied: what it says and the machine does not have is made, changed or moved, and
 * what is so already is left alone, so that applying a file twice changes nothing.
 *
 * Everything that can be known to be wrong beforehand is refused beforehand, with nothing
 * changed: a file that is none, a pcpu or a domain that is not there, more promised than there
 * is. What Xen refuses later is said, and the rest is done all the same: at boot a system with one
 * domain too few is better than none.
 *
 * With --watch it stays, and a domain of the file that comes later (is created, or has rebooted)
 * gets what is its. xenstore says when domains come and go; who came is seen by looking at all of
 * them, so that it does not matter how many such messages there were. A domain gets it once: what
 * is set by hand later stays. xl makes a domain paused and names it before it is announced; it is
 * held here as well until it has its servers, so that it does not run before.
 */
#include <errno.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "admission.h"
#include "commands.h"
#include "file.h"
#include "names.h"
#include "pools.h"
#include "server.h"
#include "store.h"

#define NOBODY 0xffffffffu /* a domain's number that is none */

static unsigned int changes;
static bool watching;

/* Something was changed. */
static void __attribute__((format(printf, 1, 2))) say(const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    vprintf(format, arguments);
    printf("\n");
    va_end(arguments);
    changes++;
}

/* --- admission ------------------------------------------------------------------------------- */

/* Whether the members are promised too much of a pool of this shape; `text` then says of what. */
static bool is_overbooked(const struct pool_part *part, const struct members *members,
                          const char **text) {
    struct pool shape = {.id = 0};
    struct load load;
    memcpy(shape.pcpus, part->pcpus, sizeof(shape.pcpus));
    /* First those that belong to one pcpu, then all together, whichever pcpu they will be on. */
    bool one = !part->global && find_overbooked(&shape, false, members, &load);
    if (!one && !find_overbooked(&shape, true, members, &load))
        return false;
    *text = load_text(&load, !one);
    return true;
}

#define OVERBOOKED                                                                                 \
    "pool '%s': budgets: found %s promised; allowed: at most all of it (--force overbooks)"

/* What the file alone promises: the least that it will be. */
static void check_file(const struct file *file) {
    for (unsigned int p = 0; p < file->pool_count; p++) {
        struct members members = {NULL, 0};
        const char *text;
        for (unsigned int d = 0; d < file->domain_count; d++) {
            const struct domain_part *domain = &file->domains[d];
            for (unsigned int i = 0; domain->pool == p && i < domain->count; i++)
                if (domain->vcpus[i].vcpu != ALL_VCPUS)
                    add_member(&members, (struct member){
                                             .pcpu = MAX_PCPUS,
                                             .share = share_of(&domain->vcpus[i].server),
                                         });
        }
        set_place(file->path, file->pools[p].line);
        if (is_overbooked(&file->pools[p], &members, &text))
            fail(BAD_INPUT, OVERBOOKED, file->pools[p].name, text);
        free_members(&members);
    }
    set_place(NULL, 0);
}

/* A domain's vcpus in a pool's list, as the file wants them. */
static void plan_domain(struct members *members, const struct domain_part *part,
                        const struct domain *domain, bool inside) {
    for (unsigned int i = 0; inside && i < members->count; i++) {
        struct member *member = &members->list[i];
        const struct vcpu_line *line = line_of(part, member->vcpu);
        if (member->domain == domain->id && line != NULL)
            member->share = share_of(&line->server);
    }
    for (uint32_t vcpu = 0; !inside && vcpu < domain->vcpus; vcpu++) {
        const struct vcpu_line *line = line_of(part, vcpu);
        if (line != NULL)
            add_member(members, (struct member){
                                    .domain = domain->id,
                                    .vcpu = vcpu,
                                    .pcpu = MAX_PCPUS, /* not yet known */
                                    .share = share_of(&line->server),
                                });
    }
}

/* Who leaves the pool by the file takes nothing of it. */
static void plan_leaving(struct members *members, const struct domain *domain) {
    for (unsigned int i = 0; i < members->count; i++)
        if (members->list[i].domain == domain->id)
            members->list[i].share.period_us = 0;
}

/*
 * What the vcpus of a pool will be promised when the file is in force for the domain `only`, or for
 * all that are there; `pool` is NULL if there is none yet.
 */
static struct members plan_members(const struct file *file, unsigned int index,
                                   const struct pool *pool, const struct domain_part *only) {
    struct members members = {NULL, 0};
    if (pool != NULL)
        members = find_members(pool);
    for (unsigned int d = 0; d < file->domain_count; d++) {
        const struct domain_part *part = &file->domains[d];
        struct domain domain;
        if ((only != NULL && part != only) || !domain_with_name(part->name, &domain))
            continue;
        bool inside = pool != NULL && domain.pool == pool->id;
        if (part->pool == index)
            plan_domain(&members, part, &domain, inside);
        else if (inside)
            plan_leaving(&members, &domain);
    }
    return members;
}

static bool plan_is_overbooked(const struct file *file, unsigned int index,
                               const struct pool *pool, const struct domain_part *only,
                               const char **text) {
    struct members members = plan_members(file, index, pool, only);
    bool result = is_overbooked(&file->pools[index], &members, text);
    free_members(&members);
    return result;
}

/* --- what is refused before anything is changed ---------------------------------------------- */

static void check_existing(const struct pool_part *part, const struct pool *pool) {
    static const uint8_t none[MAX_PCPUS / 8];
    if (pool->scheduler != XEN_SCHEDULER_HYPERPERIOD)
        fail(BAD_INPUT, "pool '%s': found one with scheduler %u; allowed: none yet, or one with "
                        "scheduler %u, hyperperiod",
             part->name, pool->scheduler, XEN_SCHEDULER_HYPERPERIOD);
    if (ask_info(pool).global != part->global && memcmp(pool->pcpus, none, sizeof(none)) != 0)
        fail(BAD_INPUT, "pool '%s': scope: found %s; the pool that there is is not, and stays so "
                        "as long as it has pcpus",
             part->name, part->global ? "global" : "partitioned");
}

static void check_pools(const struct file *file, bool force) {
    uint8_t all[MAX_PCPUS / 8] = {0};
    for (unsigned int i = 0; i < file->pool_count; i++) {
        const struct pool_part *part = &file->pools[i];
        struct pool pool = {.id = 0};
        const char *text;
        set_place(file->path, part->line);
        bool there = pool_with_name(part->name, &pool);
        if (there)
            check_existing(part, &pool);
        check_available(part->pcpus, pool.pcpus, "cpus");
        if (!force && plan_is_overbooked(file, i, there ? &pool : NULL, NULL, &text))
            fail(BAD_INPUT, OVERBOOKED, part->name, text);
        for (unsigned int k = 0; k < sizeof(all) && !(there && pool.id == 0); k++)
            all[k] |= part->pcpus[k];
    }
    check_rest(all, "cpus");
    set_place(NULL, 0);
}

/* A vcpu that the file speaks of and the domain does not have, or NULL. */
static const struct vcpu_line *absent_vcpu(const struct domain_part *part,
                                           const struct domain *domain) {
    for (unsigned int i = 0; i < part->count; i++)
        if (part->vcpus[i].vcpu != ALL_VCPUS && part->vcpus[i].vcpu >= domain->vcpus)
            return &part->vcpus[i];
    return NULL;
}

static void check_domains(const struct file *file) {
    for (unsigned int i = 0; i < file->domain_count; i++) {
        const struct domain_part *part = &file->domains[i];
        struct domain domain;
        set_place(file->path, part->line);
        if (!domain_with_name(part->name, &domain)) {
            if (!watching)
                fail(BAD_INPUT, "found no domain '%s'; allowed: a name that `xl list` shows "
                                "(--watch waits for it)",
                     part->name);
            continue;
        }
        struct pool pool;
        bool stays = pool_with_name(file->pools[part->pool].name, &pool) && pool.id == 0;
        if (domain.id == 0 && !stays)
            fail(BAD_INPUT, "domain '%s': found dom0; allowed: any other, dom0 stays in Pool-0",
                 part->name);
        const struct vcpu_line *absent = absent_vcpu(part, &domain);
        if (absent != NULL && domain.vcpus > 0) {
            set_place(file->path, absent->line);
            fail(BAD_INPUT, "domain '%s': found vcpu %u; allowed: 0 to %u, those that it has",
                 part->name, absent->vcpu, domain.vcpus - 1);
        }
    }
    set_place(NULL, 0);
}

/* --- pools ----------------------------------------------------------------------------------- */

static bool apply_spare(const struct pool_part *part, uint32_t pool,
                        const struct xen_sysctl_hyperperiod *info) {
    struct xen_sysctl_hyperperiod wanted = {
        .op = XEN_HYPERPERIOD_OP_SPARE,
        .spare_period_ns = part->spare_period_ns,
        .spare_budget_ns = part->spare_budget_ns,
    };
    if (part->spare_period_ns == 0
        || (part->spare_period_ns == info->spare_period_ns
            && part->spare_budget_ns == info->spare_budget_ns))
        return true;
    int error = tell_pool(pool, &wanted);
    if (error != 0)
        complain("pool '%s': the spare stays as it was: %s", part->name, reason(error));
    else
        say("pool %s: spare set", part->name);
    return error == 0;
}

static bool apply_policy(const struct pool_part *part, const struct pool *pool,
                         const struct xen_sysctl_hyperperiod *info) {
    if (info->budget == part->rules.budget && info->order == part->rules.order
        && info->slack == part->rules.slack && info->global == part->global)
        return true;
    int error = write_policy(pool->id, part->rules, part->global);
    if (error != 0)
        complain("pool '%s': the policy stays as it was: %s", part->name, reason(error));
    else
        say("pool %s: policy %s", part->name, part->policy);
    return error == 0;
}

static int change_pcpu_of(const struct pool *pool, uint32_t pcpu, bool wanted) {
    if (wanted)
        return gain_pcpu(pool->id, pcpu);
    int error = remove_pcpu(pool->id, pcpu);
    return error != 0 ? error : add_pcpu(0, pcpu);
}

/* New pcpus come before old ones go: a pool with domains has to keep one. Pool-0 keeps all those
 * that no other pool takes. */
static bool apply_pcpus(const struct pool_part *part, const struct pool *pool) {
    bool done = true;
    for (int pass = 0; pass < (pool->id == 0 ? 1 : 2); pass++) {
        for (uint32_t pcpu = 0; pcpu < MAX_PCPUS; pcpu++) {
            bool wanted = has_pcpu(part->pcpus, pcpu);
            if (wanted != (pass == 0) || wanted == has_pcpu(pool->pcpus, pcpu))
                continue;
            int error = change_pcpu_of(pool, pcpu, wanted);
            if (error != 0)
                complain("pool '%s': pcpu %u cannot %s: %s", part->name, pcpu,
                         wanted ? "join" : "leave", reason(error));
            else
                say("pool %s: pcpu %u %s", part->name, pcpu, wanted ? "joined" : "left");
            done = done && error == 0;
        }
    }
    return done;
}

static bool apply_pool(const struct pool_part *part) {
    struct pool pool;
    if (pool_with_name(part->name, &pool)) {
        struct xen_sysctl_hyperperiod info = ask_info(&pool);
        /* All of them, whatever came of the one before. */
        bool policy = apply_policy(part, &pool, &info);
        bool pcpus = apply_pcpus(part, &pool);
        return apply_spare(part, pool.id, &info) && policy && pcpus;
    }
    struct xen_sysctl_hyperperiod fresh = {.spare_period_ns = 0};
    uint32_t id;
    int error = make_pool(part->rules, part->global, part->pcpus, &id);
    if (error != 0) {
        complain("pool '%s' was not made: %s", part->name, reason(error));
        return false;
    }
    name_pool(id, part->name);
    say("pool %s: made, %s", part->name, part->policy);
    return apply_spare(part, id, &fresh);
}

/* --- domains --------------------------------------------------------------------------------- */

static bool apply_vcpu(const struct domain_part *part, uint32_t domain, uint32_t vcpu,
                       const struct xen_domctl_sched_hyperperiod *wanted) {
    struct xen_domctl_sched_hyperperiod server;
    int error = get_server(domain, vcpu, &server);
    if (error == 0 && same_server(&server, wanted))
        return true;
    if (error == 0)
        error = set_server(domain, vcpu, wanted);
    if (error != 0) {
        complain("domain '%s': %s", part->name, set_reason(error));
        return false;
    }
    printf("domain %s: ", part->name);
    if (vcpu == ALL_VCPUS)
        printf("others: ");
    else
        printf("vcpu %u: ", vcpu);
    print_server(stdout, wanted);
    printf("\n");
    changes++;
    return true;
}

/* What is for all comes first: it is set on each vcpu, those with a line of their own too. */
static bool apply_vcpus(const struct domain_part *part, const struct domain *domain) {
    const struct vcpu_line *others = line_of(part, ALL_VCPUS);
    bool done = others == NULL || apply_vcpu(part, domain->id, ALL_VCPUS, &others->server);
    for (uint32_t vcpu = 0; vcpu < domain->vcpus; vcpu++) {
        const struct vcpu_line *line = line_of(part, vcpu);
        if (line != NULL)
            done = apply_vcpu(part, domain->id, vcpu, &line->server) && done;
    }
    return done;
}

/* The domain is in the pool, so it is known which pcpu each of its vcpus belongs to. */
static bool apply_servers(const struct file *file, const struct domain_part *part,
                          const struct domain *domain, bool force) {
    const struct pool_part *wanted = &file->pools[part->pool];
    struct pool pool;
    const char *text;
    if (!force && pool_with_name(wanted->name, &pool)
        && plan_is_overbooked(file, part->pool, &pool, part, &text)) {
        complain("domain '%s' gets no servers: " OVERBOOKED "; `xl vcpu-pin` chooses the pcpus of "
                 "vcpus",
                 part->name, wanted->name, text);
        return false;
    }
    return apply_vcpus(part, domain);
}

static bool apply_domain(const struct file *file, const struct domain_part *part,
                         const struct domain *domain, bool force) {
    const struct pool_part *wanted = &file->pools[part->pool];
    struct pool pool;
    const char *text;
    if (!pool_with_name(wanted->name, &pool)) {
        complain("domain '%s' stays where it is: there is no pool '%s'", part->name, wanted->name);
        return false;
    }
    if (domain->pool == pool.id)
        return apply_servers(file, part, domain, force);
    if (!force && plan_is_overbooked(file, part->pool, &pool, part, &text)) {
        complain("domain '%s' stays where it is: " OVERBOOKED, part->name, wanted->name, text);
        return false;
    }
    /* Xen 4.20 may crash when vcpus run while they are moved (docs/xen/toolstack.md). */
    int error = hold_domain(domain->id);
    bool held = error == 0;
    if (held)
        error = move_domain(domain->id, pool.id);
    if (error != 0)
        complain("domain '%s' stays where it was: %s", part->name, reason(error));
    else
        say("domain %s: moved to pool %s", part->name, wanted->name);
    bool done = error == 0 && apply_servers(file, part, domain, force);
    if (held)
        release_domain(domain->id);
    return done;
}

/* A domain of the file that has come: the file is applied to it, unless it does not fit. */
static bool apply_to_comer(const struct file *file, const struct domain_part *part,
                           const struct domain *domain, bool force) {
    const struct vcpu_line *absent = absent_vcpu(part, domain);
    if (absent != NULL) {
        set_place(file->path, absent->line);
        complain("domain '%s': found vcpu %u; allowed: 0 to %u, those that it has", part->name,
                 absent->vcpu, domain->vcpus - 1);
        set_place(NULL, 0);
        return false;
    }
    return apply_domain(file, part, domain, force);
}

/*
 * Applies the file to the domains that came since the last time; `seen` has the number of each
 * domain that it was applied to.
 */
static bool apply_to_comers(const struct file *file, uint32_t *seen, bool force) {
    bool done = true;
    for (unsigned int i = 0; i < file->domain_count; i++) {
        const struct domain_part *part = &file->domains[i];
        struct domain domain;
        /* One that is being made has its name already; its vcpus come one by one. */
        bool there = domain_with_name(part->name, &domain) && domain.vcpus > 0
                     && (!watching || store_introduced(domain.id));
        if (there && domain.id != seen[i])
            done = apply_to_comer(file, part, &domain, force) && done;
        seen[i] = there ? domain.id : NOBODY;
    }
    return done;
}

/* --- staying --------------------------------------------------------------------------------- */

/* Tells systemd, if it asked to be told, that what is there has been done. */
static void tell_ready(void) {
    const char *path = getenv("NOTIFY_SOCKET");
    struct sockaddr_un to = {.sun_family = AF_UNIX};
    if (path == NULL || path[0] == 0 || strlen(path) >= sizeof(to.sun_path))
        return;
    size_t length = strlen(path);
    memcpy(to.sun_path, path, length);
    if (path[0] == '@') /* an address without a file */
        to.sun_path[0] = 0;
    int handle = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    static const char ready[] = "READY=1";
    if (handle < 0
        || sendto(handle, ready, strlen(ready), 0, (struct sockaddr *)&to,
                  (socklen_t)(offsetof(struct sockaddr_un, sun_path) + length))
               < 0)
        warn("cannot tell systemd: %s", strerror(errno));
    if (handle >= 0)
        close(handle);
}

/* A domain that is held must not stay so: no signal ends the program in between. */
static bool apply_undisturbed(const struct file *file, uint32_t *seen, bool force) {
    sigset_t all, before;
    sigfillset(&all);
    sigprocmask(SIG_BLOCK, &all, &before);
    bool done = apply_to_comers(file, seen, force);
    fflush(stdout);
    sigprocmask(SIG_SETMASK, &before, NULL);
    return done;
}

static int watch_domains(const struct file *file, uint32_t *seen, bool force) {
    for (unsigned int i = 0; i < file->domain_count; i++)
        if (seen[i] == NOBODY)
            printf("domain %s: not there yet\n", file->domains[i].name);
    fflush(stdout);
    tell_ready();
    while (store_wait())
        apply_undisturbed(file, seen, force);
    fail(REFUSED, "xenstore does not say any more which domains come");
}

static bool apply_file(const struct file *file, uint32_t *seen, bool force) {
    bool done = true;
    for (unsigned int i = 0; i < file->pool_count; i++)
        done = apply_pool(&file->pools[i]) && done;
    return apply_undisturbed(file, seen, force) && done;
}

int apply(struct arguments *arguments) {
    bool force = take_flag(arguments, "--force");
    watching = take_flag(arguments, "--watch");
    bool only_check = take_flag(arguments, "--check");
    const char *path = take_word(arguments, "file");
    take_no_more(arguments);
    struct file file = read_file(path);
    if (!force)
        check_file(&file);
    if (only_check) {
        free_file(&file);
        return DONE;
    }
    open_hypervisor();
    /* From before the first look, so that nobody comes unseen. */
    if (!store_there() || (watching && !store_watch_domains()))
        fail(LACKS, "no xenstore, in which domains and pools have their names: is xenstored there, "
                    "and is this the superuser?");
    check_domains(&file);
    check_pools(&file, force);
    uint32_t *seen = malloc((file.domain_count + 1) * sizeof(*seen));
    if (seen == NULL)
        fail(LACKS, "no memory for %u domains", file.domain_count);
    memset(seen, 0xff, (file.domain_count + 1) * sizeof(*seen));
    bool done = apply_file(&file, seen, force);
    if (watching)
        watch_domains(&file, seen, force);
    if (done && changes == 0)
        printf("nothing to change\n");
    free(seen);
    free_file(&file);
    return done ? DONE : REFUSED;
}
