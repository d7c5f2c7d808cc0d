// SPDX-License-Identifier: BSD-2-Clause
/*
 * What of this machine keeps servers from getting their budgets on time, and what to do about it.
 *
 * Each check is a line: what was found, and, where it is not well, what to do. Most of it is what
 * Xen was booted with; docs/xen/boards.md says why each matters and how to see it by measuring.
 * Nothing is changed: whether there is a scheduler of ours at all shows, where no pool has it, in
 * a pool without pcpus that is made and ended at once.
 */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "admission.h"
#include "commands.h"
#include "names.h"
#include "pools.h"
#include "store.h"

#define TEXT 512u

/* Xen's default (xen/common/timer.c). */
#define TIMER_SLOP_NS 50000u

static struct {
    bool json;
    unsigned int lines, troubles;
} said;

static void print_finding(const char *name, const char *found, const char *advice) {
    if (said.json) {
        printf("%s{\"name\": \"%s\", \"ok\": %s, \"found\": ", said.lines++ > 0 ? ", " : "", name,
               advice == NULL ? "true" : "false");
        print_json_text(found);
        printf(", \"advice\": ");
        print_json_text(advice);
        printf("}");
    } else {
        printf("%-8s %-12s %s\n", advice == NULL ? "ok" : "to do", name, found);
        if (advice != NULL)
            printf("%-8s %-12s %s\n", "", "", advice);
    }
    said.troubles += advice != NULL;
}

/* A check's line; `advice` is NULL if all is well. */
static void __attribute__((format(printf, 3, 4))) report(const char *name, const char *advice,
                                                         const char *format, ...) {
    char found[TEXT];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(found, sizeof(found), format, arguments);
    va_end(arguments);
    print_finding(name, found, advice);
}

/* --- the command line ------------------------------------------------------------------------ */

/*
 * The last word "NAME" or "NAME=VALUE" on Xen's command line: its value, empty if it has none, in
 * memory that the next one takes; NULL if there is no such word.
 */
static const char *option(const struct about *about, const char *name) {
    static char value[TEXT];
    const char *found = NULL;
    size_t length = strlen(name);
    for (const char *at = about->command_line; *at != 0;) {
        size_t word = strcspn(at, " ");
        if (word >= length && strncmp(at, name, length) == 0
            && (word == length || at[length] == '=')) {
            size_t begin = word == length ? length : length + 1;
            snprintf(value, sizeof(value), "%.*s", (int)(word - begin), at + begin);
            found = value;
        }
        at += word;
        at += strspn(at, " ");
    }
    return found;
}

static bool is_off(const char *value) {
    static const char *const words[] = {"0", "no", "off", "false", "disable", "none"};
    for (unsigned int i = 0; value != NULL && i < sizeof(words) / sizeof(words[0]); i++)
        if (strcmp(value, words[i]) == 0)
            return true;
    return false;
}

static bool is_arm(const struct about *about) {
    return strstr(about->capabilities, "aarch64") != NULL;
}

/* --- checks ---------------------------------------------------------------------------------- */

static void check_version(const struct about *about) {
    bool known = about->major == 4 && about->minor == 20;
    report("version",
           known ? NULL
                 : "use Xen 4.20, for whose interfaces this program and the scheduler are made",
           "Xen %u.%u%s", about->major, about->minor, about->extra);
}

static unsigned int count_own_pools(void) {
    unsigned int count = 0;
    struct pool pool;
    for (uint32_t from = 0; find_pool(from, &pool) == 0; from = pool.id + 1)
        count += pool.scheduler == XEN_SCHEDULER_HYPERPERIOD;
    return count;
}

static bool check_scheduler(void) {
    uint32_t id;
    if (count_own_pools() > 0) {
        report("scheduler", NULL, "the hypervisor has it");
        return true;
    }
    bool there = create_pool(&id, XEN_SCHEDULER_HYPERPERIOD) == 0;
    if (there)
        destroy_pool(id);
    report("scheduler",
           there ? NULL : "boot a hypervisor that has it: `hyperperiod xen build x86_64` makes one",
           "the hypervisor %s it", there ? "has" : "does not have");
    return there;
}

static void check_pool(const struct pool *pool) {
    bool global = ask_info(pool).global;
    struct members members = find_members(pool);
    const char *name = pool_name(pool->id);
    struct load load;
    bool overbooked = find_overbooked(pool, global, &members, &load);
    const char *advice = NULL;
    if (overbooked)
        advice = "give its servers less, or the pool more pcpus: not all budgets can be had";
    else if (name == NULL)
        advice = "name it (`xl cpupool-rename`): a pool without a name is not saved";
    if (overbooked)
        report("pool", advice, "%u, %s: %s promised", pool->id, name != NULL ? name : "no name",
               load_text(&load, global));
    else
        report("pool", advice, "%u, %s: %u domain%s, not overbooked", pool->id,
               name != NULL ? name : "no name", pool->domains, pool->domains == 1 ? "" : "s");
    free_members(&members);
}

static void check_pools(void) {
    struct pool pool;
    if (count_own_pools() == 0)
        report("pool", "make one: `hyperperiod-xen pool-create` or `apply`",
               "none has the scheduler");
    for (uint32_t from = 0; find_pool(from, &pool) == 0; from = pool.id + 1)
        if (pool.scheduler == XEN_SCHEDULER_HYPERPERIOD)
            check_pool(&pool);
}

static void check_store(void) {
    report("xenstore",
           store_there() ? NULL
                         : "start xenstored: without it domains and pools have numbers only, and "
                           "`apply` does not work",
           store_there() ? "answers" : "does not answer");
}

/* A timer may go off by so much later than it was set for, to go off with another one. */
static void check_timer_slop(const struct about *about) {
    const char *value = option(about, "timer_slop");
    unsigned long slop = value == NULL ? TIMER_SLOP_NS : strtoul(value, NULL, 0);
    report("timer_slop",
           slop <= XEN_HYPERPERIOD_DECISION_NS
               ? NULL
               : "boot Xen with timer_slop=0: a budget may end, and a refill come, so much later",
           "%lu ns%s", slop, value == NULL ? ", Xen's default" : "");
}

static void check_idle_states(const struct about *about) {
    const char *most = option(about, "max_cstate");
    uint32_t count = 0;
    if (is_arm(about)) {
        report("idle states", NULL, "Xen for arm64 waits for interrupts and knows no deeper ones");
    } else if (is_off(option(about, "cpuidle"))) {
        report("idle states", NULL, "cpuidle is off");
    } else if ((most = option(about, "max_cstate")) != NULL && strtoul(most, NULL, 0) <= 1) {
        report("idle states", NULL, "max_cstate=%s", most);
    } else if (count_idle_states(0, &count) != 0 || count <= 2) {
        /* The state of running counts as one, and halting is one. */
        report("idle states", NULL, "none deeper than halting");
    } else {
        report("idle states",
               "boot Xen with max_cstate=1: a pcpu that sleeps deeper takes long to wake up",
               "%u", count - 1);
    }
}

static void check_vwfi(const struct about *about) {
    const char *value = option(about, "vwfi");
    if (!is_arm(about))
        return;
    bool native = value != NULL && strcmp(value, "native") == 0;
    report("vwfi",
           native ? "boot Xen without it: a vcpu that waits keeps its pcpu, and its budget goes"
                  : NULL,
           "%s", value == NULL ? "trap, Xen's default" : value);
}

static void check_frequency(const struct about *about) {
    const char *value = option(about, "cpufreq");
    if (is_arm(about))
        return;
    bool fixed = is_off(value) || (value != NULL && strstr(value, "performance") != NULL);
    report("cpufreq",
           fixed ? NULL
                 : "boot Xen with cpufreq=xen:performance: budgets are time, and a slow pcpu does "
                   "less in it",
           "%s", value == NULL ? "Xen's default" : value);
}

/* A message is written with interrupts off, a letter at a time: 87 us each at 115,200 baud. */
static void check_console(const struct about *about) {
    const char *sync = option(about, "sync_console");
    const char *level = option(about, "guest_loglvl");
    bool all = level != NULL && strcmp(level, "all") == 0;
    if (sync != NULL && !is_off(sync))
        report("console", "boot Xen without it: every message stops a pcpu until it is sent",
               "sync_console");
    else
        report("console",
               all ? "boot Xen without it: guests may make Xen print, and printing takes time"
                   : NULL,
               "%s", all ? "guest_loglvl=all" : "messages wait in a buffer");
}

static void check_granularity(const struct about *about) {
    const char *value = option(about, "sched-gran");
    bool single = value == NULL || strcmp(value, "cpu") == 0;
    report("sched-gran",
           single ? NULL : "boot Xen without it: servers are for single pcpus, not for cores",
           "%s", value == NULL ? "cpu, Xen's default" : value);
}

int doctor(struct arguments *arguments) {
    struct about about;
    said.json = take_flag(arguments, "--json");
    take_no_more(arguments);
    open_hypervisor();
    ask_about(&about);
    if (said.json)
        printf("{\"checks\": [");
    check_version(&about);
    if (check_scheduler())
        check_pools();
    check_store();
    check_timer_slop(&about);
    check_idle_states(&about);
    check_vwfi(&about);
    check_frequency(&about);
    check_console(&about);
    check_granularity(&about);
    if (said.json)
        printf("]}\n");
    return said.troubles > 0 ? REFUSED : DONE;
}
