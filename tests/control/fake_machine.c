// SPDX-License-Identifier: BSD-2-Clause
/*
 * A machine with Xen that is a text file, in place of control/hypervisor.c and control/store.c.
 *
 * The environment's FAKE_MACHINE names the file. It is read when the program begins and written
 * after each change, in the same form: so one command goes on where the one before it ended, and a
 * test can write any machine and look at what became of it. Each call that changes something is a
 * line of FAKE_MACHINE.log. The lines of a machine, in any order:
 *
 *   pcpu NUMBER POOL              POOL is -1 for a pcpu that no pool has
 *   pool ID SCHEDULER BUDGET ORDER SLACK GLOBAL QUANTUM_NS SPARE_PERIOD_NS SPARE_BUDGET_NS
 *   domain ID POOL VCPUS HELD PERIOD_US BUDGET_US ORDER        what new vcpus would get
 *   vcpu DOMAIN NUMBER PCPU PERIOD_US BUDGET_US ORDER
 *   store PATH VALUE              VALUE goes to the end of the line
 *   refuse CALL ERROR             what the hypervisor answers to all calls of this name
 *   about WHICH TEXT              extra, capabilities or command_line
 *   version MAJOR MINOR           idle COUNT
 *
 *   usage DOMAIN VCPU USED_NS DONATED_NS EXTRA_NS OVERRUN_NS OVERRUN_NS_MAX DEPLETED REFILLED
 * MISSED building ID                   the toolstack has not announced the domain yet
 *
 * Whoever waits for domains reads lines from the standard input up to an empty one, which are such
 * lines as well, or "gone ID" or "announced ID": that happens, and the wait is over. It ends for
 * good with the input.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "hypervisor.h"
#include "store.h"
#include "text.h"

#define POOLS 16u
#define DOMAINS 64u
#define VCPUS 80u
#define ENTRIES 128u
#define PLACES 64u

struct vcpu {
    uint32_t pcpu;
    struct xen_domctl_sched_hyperperiod server;
    struct xen_hyperperiod_usage usage;
};

static struct machine {
    struct {
        bool there;
        uint32_t scheduler;
        struct xen_sysctl_hyperperiod info;
    } pool[POOLS];
    struct {
        bool there;
        int pool;
    } pcpu[MAX_PCPUS];
    struct {
        bool there;
        bool building;
        uint32_t id, pool, vcpus, held;
        struct xen_domctl_sched_hyperperiod fallback;
        struct vcpu vcpu[VCPUS];
    } domain[DOMAINS];
    struct {
        char path[64], value[256];
    } entry[ENTRIES];
    struct {
        char call[16];
        int error;
    } refusal[8];
    struct about about;
    uint32_t idle_states;
    bool idle_known;
} machine;

static const char *path;

static _Noreturn void broken(const char *line) {
    fprintf(stderr, "fake machine: %s\n", line);
    abort();
}

/* --- the file -------------------------------------------------------------------------------- */

static unsigned int slot_of(uint32_t id) {
    for (unsigned int i = 0; i < DOMAINS; i++)
        if (machine.domain[i].there && machine.domain[i].id == id)
            return i;
    return DOMAINS;
}

static void put_entry(const char *at, const char *value) {
    unsigned int slot = ENTRIES;
    for (unsigned int i = ENTRIES; i > 0; i--)
        if (machine.entry[i - 1].path[0] == 0 || strcmp(machine.entry[i - 1].path, at) == 0)
            slot = i - 1;
    for (unsigned int i = 0; i < ENTRIES; i++)
        if (strcmp(machine.entry[i].path, at) == 0)
            slot = i;
    if (slot == ENTRIES)
        broken("xenstore is full");
    snprintf(machine.entry[slot].path, sizeof(machine.entry[slot].path), "%s", at);
    snprintf(machine.entry[slot].value, sizeof(machine.entry[slot].value), "%s", value);
}

static void put_about(const char *which, const char *text) {
    if (strcmp(which, "extra") == 0)
        snprintf(machine.about.extra, sizeof(machine.about.extra), "%.15s", text);
    else if (strcmp(which, "capabilities") == 0)
        snprintf(machine.about.capabilities, sizeof(machine.about.capabilities), "%s", text);
    else
        snprintf(machine.about.command_line, sizeof(machine.about.command_line), "%s", text);
}

static bool take_domain(const char *line) {
    unsigned int id, pool, vcpus, held, period, budget, order, slot = 0;
    if (sscanf(line, "domain %u %u %u %u %u %u %u", &id, &pool, &vcpus, &held, &period, &budget,
               &order)
        != 7)
        return false;
    while (machine.domain[slot].there)
        slot++;
    machine.domain[slot].there = true;
    machine.domain[slot].building = false;
    machine.domain[slot].id = id;
    machine.domain[slot].pool = pool;
    machine.domain[slot].vcpus = vcpus;
    machine.domain[slot].held = held;
    machine.domain[slot].fallback = (struct xen_domctl_sched_hyperperiod){period, budget, order};
    return true;
}

static bool take_vcpu(const char *line) {
    unsigned int id, number, pcpu, period, budget, order;
    if (sscanf(line, "vcpu %u %u %u %u %u %u", &id, &number, &pcpu, &period, &budget, &order) != 6)
        return false;
    machine.domain[slot_of(id)].vcpu[number].pcpu = pcpu;
    machine.domain[slot_of(id)].vcpu[number].server =
        (struct xen_domctl_sched_hyperperiod){period, budget, order};
    return true;
}

static bool take_usage(const char *line) {
    unsigned int id, number, depleted, refilled, missed;
    unsigned long long used, donated, extra, overrun, longest;
    if (sscanf(line, "usage %u %u %llu %llu %llu %llu %llu %u %u %u", &id, &number, &used, &donated,
               &extra, &overrun, &longest, &depleted, &refilled, &missed)
        != 10)
        return false;
    machine.domain[slot_of(id)].vcpu[number].usage = (struct xen_hyperperiod_usage){
        .used_ns = used,
        .donated_ns = donated,
        .extra_ns = extra,
        .overrun_ns = overrun,
        .overrun_ns_max = longest,
        .depleted = depleted,
        .refilled = refilled,
        .missed = missed,
    };
    return true;
}

static bool take_pool(const char *line) {
    unsigned int id, scheduler, budget, order, slack, global;
    unsigned long long quantum, period, spare;
    if (sscanf(line, "pool %u %u %u %u %u %u %llu %llu %llu", &id, &scheduler, &budget, &order,
               &slack, &global, &quantum, &period, &spare)
        != 9)
        return false;
    machine.pool[id].there = true;
    machine.pool[id].scheduler = scheduler;
    machine.pool[id].info = (struct xen_sysctl_hyperperiod){
        .budget = budget,
        .order = order,
        .slack = slack,
        .global = global,
        .quantum_ns = quantum,
        .spare_period_ns = period,
        .spare_budget_ns = spare,
    };
    return true;
}

static bool take_rest(const char *line) {
    unsigned int number, other;
    int pool, error, end = 0;
    char word[64];
    if (sscanf(line, "pcpu %u %d", &number, &pool) == 2) {
        machine.pcpu[number].there = true;
        machine.pcpu[number].pool = pool;
    } else if (sscanf(line, "store %63s %n", word, &end) == 1 && end > 0) {
        put_entry(word, line + end);
    } else if (sscanf(line, "about %63s %n", word, &end) == 1 && end > 0) {
        put_about(word, line + end);
    } else if (sscanf(line, "refuse %15s %d", word, &error) == 2) {
        for (unsigned int i = 0; i < 8; i++)
            if (machine.refusal[i].error == 0) {
                memcpy(machine.refusal[i].call, word, sizeof(machine.refusal[i].call));
                machine.refusal[i].error = error;
                break;
            }
    } else if (sscanf(line, "version %u %u", &number, &other) == 2) {
        machine.about.major = number;
        machine.about.minor = other;
    } else if (sscanf(line, "idle %u", &number) == 1) {
        machine.idle_states = number;
        machine.idle_known = true;
    } else if (sscanf(line, "gone %u", &number) == 1) {
        machine.domain[slot_of(number)].there = false;
    } else if (sscanf(line, "building %u", &number) == 1) {
        machine.domain[slot_of(number)].building = true;
    } else if (sscanf(line, "announced %u", &number) == 1) {
        machine.domain[slot_of(number)].building = false;
    } else {
        return false;
    }
    return true;
}

static void take_line(char *line) {
    line[strcspn(line, "\n")] = 0;
    if (line[0] != 0 && !take_domain(line) && !take_vcpu(line) && !take_pool(line)
        && !take_usage(line) && !take_rest(line))
        broken(line);
}

static void read_machine(void) {
    char line[2048];
    FILE *from;
    if (path != NULL)
        return;
    path = getenv("FAKE_MACHINE");
    from = path == NULL ? NULL : fopen(path, "r");
    if (from == NULL)
        fail(LACKS, "no way to the hypervisor: FAKE_MACHINE names none");
    while (fgets(line, sizeof(line), from) != NULL)
        take_line(line);
    fclose(from);
}

static void write_server(FILE *to, const struct xen_domctl_sched_hyperperiod *server) {
    fprintf(to, " %u %u %u\n", server->period_us, server->budget_us, server->order);
}

static void write_usage(FILE *to, uint32_t domain, uint32_t vcpu,
                        const struct xen_hyperperiod_usage *usage) {
    if (usage->used_ns == 0 && usage->refilled == 0)
        return;
    fprintf(to, "usage %u %u %llu %llu %llu %llu %llu %u %u %u\n", domain, vcpu,
            (unsigned long long)usage->used_ns, (unsigned long long)usage->donated_ns,
            (unsigned long long)usage->extra_ns, (unsigned long long)usage->overrun_ns,
            (unsigned long long)usage->overrun_ns_max, usage->depleted, usage->refilled,
            usage->missed);
}

static void write_domains(FILE *to) {
    for (unsigned int i = 0; i < DOMAINS; i++) {
        if (!machine.domain[i].there)
            continue;
        fprintf(to, "domain %u %u %u %u", machine.domain[i].id, machine.domain[i].pool,
                machine.domain[i].vcpus, machine.domain[i].held);
        write_server(to, &machine.domain[i].fallback);
        if (machine.domain[i].building)
            fprintf(to, "building %u\n", machine.domain[i].id);
        for (uint32_t v = 0; v < machine.domain[i].vcpus; v++) {
            fprintf(to, "vcpu %u %u %u", machine.domain[i].id, v, machine.domain[i].vcpu[v].pcpu);
            write_server(to, &machine.domain[i].vcpu[v].server);
            write_usage(to, machine.domain[i].id, v, &machine.domain[i].vcpu[v].usage);
        }
    }
}

static void write_machine(void) {
    FILE *to = fopen(path, "w");
    if (to == NULL)
        broken(path);
    for (unsigned int i = 0; i < MAX_PCPUS; i++)
        if (machine.pcpu[i].there)
            fprintf(to, "pcpu %u %d\n", i, machine.pcpu[i].pool);
    for (unsigned int i = 0; i < POOLS; i++) {
        const struct xen_sysctl_hyperperiod *info = &machine.pool[i].info;
        if (machine.pool[i].there)
            fprintf(to, "pool %u %u %u %u %u %u %llu %llu %llu\n", i, machine.pool[i].scheduler,
                    info->budget, info->order, info->slack, info->global,
                    (unsigned long long)info->quantum_ns, (unsigned long long)info->spare_period_ns,
                    (unsigned long long)info->spare_budget_ns);
    }
    write_domains(to);
    for (unsigned int i = 0; i < ENTRIES; i++)
        if (machine.entry[i].path[0] != 0)
            fprintf(to, "store %s %s\n", machine.entry[i].path, machine.entry[i].value);
    for (unsigned int i = 0; i < 8 && machine.refusal[i].error != 0; i++)
        fprintf(to, "refuse %s %d\n", machine.refusal[i].call, machine.refusal[i].error);
    fprintf(to, "version %u %u\nabout extra %s\nabout capabilities %s\nabout command_line %s\n",
            machine.about.major, machine.about.minor, machine.about.extra,
            machine.about.capabilities, machine.about.command_line);
    if (machine.idle_known)
        fprintf(to, "idle %u\n", machine.idle_states);
    fclose(to);
}

/* A call that changes something is written down; what it answers if the machine refuses it. */
static int call(const char *name, uint32_t first, uint32_t second) {
    char log_path[512];
    snprintf(log_path, sizeof(log_path), "%s.log", path);
    for (unsigned int i = 0; i < 8; i++)
        if (machine.refusal[i].error != 0 && strcmp(machine.refusal[i].call, name) == 0)
            return machine.refusal[i].error;
    FILE *log = fopen(log_path, "a");
    if (log == NULL)
        broken(log_path);
    if (second == ALL_VCPUS)
        fprintf(log, "%s %u all\n", name, first);
    else
        fprintf(log, "%s %u %u\n", name, first, second);
    fclose(log);
    return 0;
}

static int done(void) {
    write_machine();
    return 0;
}

/* --- the hypervisor -------------------------------------------------------------------------- */

void open_hypervisor(void) {
    read_machine();
}

void *shared_memory(size_t bytes) {
    void *memory = calloc(1, bytes);
    if (memory == NULL)
        broken("no memory");
    return memory;
}

static void pcpus_of(int pool, uint8_t pcpus[MAX_PCPUS / 8]) {
    memset(pcpus, 0, MAX_PCPUS / 8);
    for (unsigned int i = 0; i < MAX_PCPUS; i++)
        if (machine.pcpu[i].there && machine.pcpu[i].pool == pool)
            pcpus[i / 8] |= (uint8_t)(1u << i % 8);
}

static uint32_t domains_of(uint32_t pool) {
    uint32_t count = 0;
    for (unsigned int i = 0; i < DOMAINS; i++)
        count += machine.domain[i].there && machine.domain[i].pool == pool;
    return count;
}

static uint32_t vcpus_of(uint32_t pool) {
    uint32_t count = 0;
    for (unsigned int i = 0; i < DOMAINS; i++)
        if (machine.domain[i].there && machine.domain[i].pool == pool)
            count += machine.domain[i].vcpus;
    return count;
}

static uint32_t count_pcpus(uint32_t pool) {
    uint32_t count = 0;
    for (unsigned int i = 0; i < MAX_PCPUS; i++)
        count += machine.pcpu[i].there && machine.pcpu[i].pool == (int)pool;
    return count;
}

static bool is_ours(uint32_t pool) {
    return pool < POOLS && machine.pool[pool].there
           && machine.pool[pool].scheduler == XEN_SCHEDULER_HYPERPERIOD;
}

int find_pool(uint32_t from, struct pool *pool) {
    while (from < POOLS && !machine.pool[from].there)
        from++;
    if (from >= POOLS)
        return ENOENT;
    *pool = (struct pool){
        .id = from, .scheduler = machine.pool[from].scheduler, .domains = domains_of(from)};
    pcpus_of((int)from, pool->pcpus);
    return 0;
}

int free_pcpus(uint8_t pcpus[MAX_PCPUS / 8]) {
    pcpus_of(-1, pcpus);
    return 0;
}

int create_pool(uint32_t *id, uint32_t scheduler) {
    int error = call("create", scheduler, 0);
    if (error != 0)
        return error;
    for (*id = 1; *id < POOLS && machine.pool[*id].there; ++*id)
        ;
    if (*id == POOLS)
        return ENOSPC;
    memset(&machine.pool[*id], 0, sizeof(machine.pool[*id]));
    machine.pool[*id].there = true;
    machine.pool[*id].scheduler = scheduler;
    return done();
}

int destroy_pool(uint32_t id) {
    int error = call("destroy", id, 0);
    if (error != 0 || domains_of(id) > 0 || count_pcpus(id) > 0)
        return error != 0 ? error : EBUSY;
    machine.pool[id].there = false;
    return done();
}

int add_pcpu(uint32_t pool, uint32_t pcpu) {
    int error = call("add", pool, pcpu);
    if (error != 0 || !machine.pcpu[pcpu].there || machine.pcpu[pcpu].pool != -1)
        return error != 0 ? error : EBUSY;
    machine.pcpu[pcpu].pool = (int)pool;
    return done();
}

/* The first pcpu of a pool that has the fewest vcpus. */
static uint32_t least_loaded(uint32_t pool) {
    uint32_t best = MAX_PCPUS, fewest = UINT32_MAX;
    for (uint32_t i = 0; i < MAX_PCPUS; i++) {
        uint32_t count = 0;
        if (!machine.pcpu[i].there || machine.pcpu[i].pool != (int)pool)
            continue;
        for (unsigned int d = 0; d < DOMAINS; d++)
            for (uint32_t v = 0; machine.domain[d].there && v < machine.domain[d].vcpus; v++)
                count += machine.domain[d].pool == pool && machine.domain[d].vcpu[v].pcpu == i;
        if (count < fewest) {
            fewest = count;
            best = i;
        }
    }
    return best;
}

int remove_pcpu(uint32_t pool, uint32_t pcpu) {
    int error = call("remove", pool, pcpu);
    bool last = count_pcpus(pool) == 1 && domains_of(pool) > 0;
    if (error != 0 || machine.pcpu[pcpu].pool != (int)pool || last)
        return error != 0 ? error : EBUSY;
    machine.pcpu[pcpu].pool = -1;
    for (unsigned int d = 0; d < DOMAINS; d++)
        for (uint32_t v = 0; machine.domain[d].there && v < machine.domain[d].vcpus; v++)
            if (machine.domain[d].pool == pool && machine.domain[d].vcpu[v].pcpu == pcpu)
                machine.domain[d].vcpu[v].pcpu = least_loaded(pool);
    return done();
}

int move_domain(uint32_t domain, uint32_t pool) {
    unsigned int slot = slot_of(domain);
    int error = call("move", domain, pool);
    if (error != 0)
        return error;
    if (is_ours(pool) && vcpus_of(pool) + machine.domain[slot].vcpus > PLACES)
        return ENOSPC;
    if (count_pcpus(pool) == 0)
        return EINVAL;
    const struct xen_domctl_sched_hyperperiod none = {.order = XEN_HYPERPERIOD_BEST_EFFORT};
    machine.domain[slot].fallback = none;
    machine.domain[slot].pool = DOMAINS;
    for (uint32_t v = 0; v < machine.domain[slot].vcpus; v++)
        machine.domain[slot].vcpu[v].pcpu = MAX_PCPUS;
    machine.domain[slot].pool = pool;
    for (uint32_t v = 0; v < machine.domain[slot].vcpus; v++)
        machine.domain[slot].vcpu[v] = (struct vcpu){.pcpu = least_loaded(pool), .server = none};
    return done();
}

int find_domain(uint32_t from, struct domain *domain) {
    unsigned int best = DOMAINS;
    for (unsigned int i = 0; i < DOMAINS; i++)
        if (machine.domain[i].there && machine.domain[i].id >= from
            && (best == DOMAINS || machine.domain[i].id < machine.domain[best].id))
            best = i;
    if (best == DOMAINS)
        return ENOENT;
    *domain = (struct domain){machine.domain[best].id, machine.domain[best].pool,
                              machine.domain[best].vcpus};
    return 0;
}

int find_pcpu(uint32_t domain, uint32_t vcpu, uint32_t *pcpu) {
    *pcpu = machine.domain[slot_of(domain)].vcpu[vcpu].pcpu;
    return 0;
}

int hold_domain(uint32_t domain) {
    int error = call("hold", domain, 0);
    if (error != 0)
        return error;
    machine.domain[slot_of(domain)].held++;
    return done();
}

int release_domain(uint32_t domain) {
    int error = call("release", domain, 0);
    if (error != 0 || machine.domain[slot_of(domain)].held == 0)
        return error != 0 ? error : EINVAL;
    machine.domain[slot_of(domain)].held--;
    return done();
}

int tell_pool(uint32_t pool, struct xen_sysctl_hyperperiod *what) {
    struct xen_sysctl_hyperperiod *info = &machine.pool[pool].info;
    static const char *const names[] = {
        [XEN_HYPERPERIOD_OP_POLICY] = "policy",
        [XEN_HYPERPERIOD_OP_SPARE] = "spare",
        [XEN_HYPERPERIOD_OP_RECORD] = "record",
    };
    bool records = what->op == XEN_HYPERPERIOD_OP_RECORD;
    int error = call(names[what->op], pool, records ? what->ring_open : 0);
    if (error != 0 || !is_ours(pool) || records)
        return error != 0 ? error : is_ours(pool) ? 0 : EINVAL;
    if (what->op == XEN_HYPERPERIOD_OP_POLICY) {
        const struct hp_policy rules = {what->budget, what->order, what->slack};
        if (!hp_policy_legal(&rules, what->global ? 2 : 1))
            return EINVAL;
        if (info->global != what->global && count_pcpus(pool) > 0)
            return EBUSY;
        info->budget = what->budget;
        info->order = what->order;
        info->slack = what->slack;
        info->global = what->global;
    } else {
        info->spare_period_ns = what->spare_period_ns;
        info->spare_budget_ns = what->spare_budget_ns;
    }
    return done();
}

/* The first vcpu of the lock domain from a number on; they are numbered as they stand here. */
static void find_usage(uint32_t pool, struct xen_sysctl_hyperperiod *what) {
    uint64_t number = 0;
    what->ring_count = 0;
    for (unsigned int d = 0; d < DOMAINS; d++) {
        for (uint32_t v = 0; machine.domain[d].there && v < machine.domain[d].vcpus; v++) {
            const struct vcpu *vcpu = &machine.domain[d].vcpu[v];
            bool here = machine.domain[d].pool == pool
                        && (machine.pool[pool].info.global || vcpu->pcpu == what->ring_pcpu);
            if (!here || number++ < what->ring_from)
                continue;
            what->usage = vcpu->usage;
            what->usage.domain = (uint16_t)machine.domain[d].id;
            what->usage.vcpu = (uint16_t)v;
            what->usage.pcpu = vcpu->pcpu;
            what->ring_from = number - 1;
            what->ring_count = 1;
            return;
        }
    }
}

int ask_pool(uint32_t pool, struct xen_sysctl_hyperperiod *what) {
    if (!is_ours(pool))
        return EINVAL;
    if (what->op == XEN_HYPERPERIOD_OP_USAGE) {
        find_usage(pool, what);
        what->global = machine.pool[pool].info.global;
        return 0;
    }
    const uint32_t op = what->op;
    *what = machine.pool[pool].info;
    what->op = op;
    what->pcpus = count_pcpus(pool);
    what->vcpus = vcpus_of(pool);
    what->capacity = PLACES;
    return 0;
}

int set_server(uint32_t domain, uint32_t vcpu, const struct xen_domctl_sched_hyperperiod *server) {
    unsigned int slot = slot_of(domain);
    int error = call("set", domain, vcpu);
    if (error != 0 || slot == DOMAINS || !is_ours(machine.domain[slot].pool))
        return error != 0 ? error : EINVAL;
    for (uint32_t v = 0; v < machine.domain[slot].vcpus; v++)
        if (vcpu == ALL_VCPUS || v == vcpu)
            machine.domain[slot].vcpu[v].server = *server;
    if (vcpu == ALL_VCPUS)
        machine.domain[slot].fallback = *server;
    return done();
}

int get_server(uint32_t domain, uint32_t vcpu, struct xen_domctl_sched_hyperperiod *server) {
    unsigned int slot = slot_of(domain);
    if (slot == DOMAINS || !is_ours(machine.domain[slot].pool))
        return EINVAL;
    *server =
        vcpu == ALL_VCPUS ? machine.domain[slot].fallback : machine.domain[slot].vcpu[vcpu].server;
    return 0;
}

void ask_about(struct about *about) {
    *about = machine.about;
}

int count_idle_states(uint32_t pcpu, uint32_t *count) {
    (void)pcpu;
    *count = machine.idle_states;
    return machine.idle_known ? 0 : ENOSYS;
}

/* --- xenstore -------------------------------------------------------------------------------- */

bool store_there(void) {
    return getenv("FAKE_NO_STORE") == NULL;
}

char *store_read(const char *at) {
    for (unsigned int i = 0; store_there() && i < ENTRIES; i++)
        if (strcmp(machine.entry[i].path, at) == 0)
            return strdup(machine.entry[i].value);
    return NULL;
}

bool store_write(const char *at, const char *value) {
    put_entry(at, value);
    write_machine();
    return true;
}

void store_remove(const char *at) {
    size_t length = strlen(at);
    for (unsigned int i = 0; i < ENTRIES; i++)
        if (strncmp(machine.entry[i].path, at, length) == 0
            && (machine.entry[i].path[length] == 0 || machine.entry[i].path[length] == '/'))
            machine.entry[i].path[0] = 0;
    write_machine();
}

bool store_introduced(uint32_t domain) {
    return !machine.domain[slot_of(domain)].building;
}

bool store_watch_domains(void) {
    return store_there();
}

bool store_wait(void) {
    char line[512];
    bool any = false;
    while (fgets(line, sizeof(line), stdin) != NULL && line[0] != '\n') {
        take_line(line);
        any = true;
    }
    write_machine();
    return any || !feof(stdin);
}
