// SPDX-License-Identifier: BSD-2-Clause
/*
 * Random hypercalls on the paths of the scheduler, from dom0: fuzz SEED CALLS [pools].
 *
 * Every call is drawn: which domctl or sysctl, which of its fields are sound and which are
 * nonsense, where pointers lead. Sound ones in between keep things moving: servers change,
 * policies are swapped, domains are paused and pinned; with 'pools' also domains are moved, pools
 * come and go, pcpus leave and join. Spared are dom0 and pcpu 0, without which nothing would be
 * left to judge by. Nothing is expected of an
 * answer; the hypervisor must live on, and so must the guests.
 *
 * At the end all guests are unpaused and unpinned. Prints how often Xen said what.
 */
#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <xencall.h>

#define __XEN_TOOLS__ 1
#include <xen/domctl.h>
#include <xen/sysctl.h>

#include "core/hyperperiod.h"
#include "hosts/xen/public.h"

#define PAGE 4096
#define AREA_BYTES (64 * PAGE)
#define PCPUS 4
#define MAX_POOLS 8
#define MAX_DOMAINS 64
#define ERRNOS 256

/* Memory that Xen may read and write; behind it is a page that it may not. */
static struct shared {
    struct xen_sysctl sysctl;
    struct xen_domctl domctl;
    struct xen_sysctl_hyperperiod hyperperiod;
    uint8_t map[64];
    struct xen_domctl_getdomaininfo domains[MAX_DOMAINS];
    uint8_t area[AREA_BYTES] __attribute__((aligned(PAGE)));
} *shared;

static xencall_handle *calls;
static uint64_t state;
static uint32_t pools[MAX_POOLS], domains[MAX_DOMAINS];
static uint32_t pool_count, domain_count;
static uint64_t answers[ERRNOS];

/* xorshift64* */
static uint64_t draw(void) {
    state ^= state >> 12;
    state ^= state << 25;
    state ^= state >> 27;
    return state * 2685821657736338717ull;
}

static uint32_t below(uint32_t bound) {
    return (uint32_t)((draw() >> 32) * bound >> 32);
}

static int one_in(uint32_t chances) {
    return below(chances) == 0;
}

/* A number of the kind that breaks things. */
static uint64_t odd_number(void) {
    switch (below(8)) {
    case 0:
        return 0;
    case 1:
        return 1;
    case 2:
        return UINT32_MAX;
    case 3:
        return UINT64_MAX;
    case 4:
        return 1ull << below(64);
    case 5:
        return (1ull << below(64)) - 1;
    case 6:
        return below(100);
    default:
        return draw();
    }
}

/* Where a pointer may lead: into shared memory, to its very end, or astray. */
static void *odd_pointer(void) {
    switch (below(10)) {
    case 0:
        return NULL;
    case 1:
        return (void *)0x1000;
    case 2:
        return (void *)0xffff82d040000000; /* Xen itself */
    case 3:
        return (void *)0xffff800000000000;
    case 4:
        return (void *)odd_number();
    case 5:
        return shared->area + AREA_BYTES - below(64);
    default:
        return shared->area + below(AREA_BYTES / 2);
    }
}

static int sysctl(void) {
    if (!one_in(200))
        shared->sysctl.interface_version = XEN_SYSCTL_INTERFACE_VERSION;
    int error = xencall1(calls, __HYPERVISOR_sysctl, (uint64_t)&shared->sysctl) < 0 ? errno : 0;
    answers[error & (ERRNOS - 1)]++;
    return error;
}

static int domctl(void) {
    if (!one_in(200))
        shared->domctl.interface_version = XEN_DOMCTL_INTERFACE_VERSION;
    int error = xencall1(calls, __HYPERVISOR_domctl, (uint64_t)&shared->domctl) < 0 ? errno : 0;
    answers[error & (ERRNOS - 1)]++;
    return error;
}

static void new_sysctl(uint32_t command) {
    memset(&shared->sysctl, 0, sizeof(shared->sysctl));
    shared->sysctl.cmd = command;
}

static void new_domctl(uint32_t command, uint32_t domain) {
    memset(&shared->domctl, 0, sizeof(shared->domctl));
    shared->domctl.cmd = command;
    shared->domctl.domain = (domid_t)domain;
}

/* Which pools and domains there are now. */
static void look_around(void) {
    struct xen_sysctl_cpupool_op *op = &shared->sysctl.u.cpupool_op;
    uint32_t from = 0;
    pool_count = 0;
    while (pool_count < MAX_POOLS) {
        new_sysctl(XEN_SYSCTL_cpupool_op);
        op->op = XEN_SYSCTL_CPUPOOL_OP_INFO;
        op->cpupool_id = from;
        set_xen_guest_handle(op->cpumap.bitmap, shared->map);
        op->cpumap.nr_bits = 64;
        if (sysctl() != 0)
            break;
        from = op->cpupool_id + 1;
        if (op->cpupool_id == 0 || op->sched_id == XEN_SCHEDULER_HYPERPERIOD)
            pools[pool_count++] = op->cpupool_id;
    }
    new_sysctl(XEN_SYSCTL_getdomaininfolist);
    shared->sysctl.u.getdomaininfolist.first_domain = 1;
    shared->sysctl.u.getdomaininfolist.max_domains = MAX_DOMAINS;
    set_xen_guest_handle(shared->sysctl.u.getdomaininfolist.buffer, shared->domains);
    domain_count = 0;
    if (sysctl() == 0)
        for (uint32_t i = 0; i < shared->sysctl.u.getdomaininfolist.num_domains; i++)
            domains[domain_count++] = shared->domains[i].domain;
}

/* A guest, as a rule; never dom0, under none of the names that Xen has for the caller. */
static uint32_t some_domain(void) {
    uint32_t domain = one_in(10) ? (uint32_t)odd_number() & 0xffff : UINT32_MAX;
    if (domain == UINT32_MAX || domain == 0 || domain == DOMID_SELF)
        return domain_count > 0 ? domains[below(domain_count)] : 4711;
    return domain;
}

static uint32_t some_pool(void) {
    return one_in(10) || pool_count == 0 ? (uint32_t)odd_number() : pools[below(pool_count)];
}

/* Never pcpu 0, which is dom0's. */
static uint32_t some_pcpu(void) {
    return one_in(10) ? 1 + (uint32_t)odd_number() % (UINT32_MAX - 2) : 1 + below(PCPUS - 1);
}

static uint32_t some_scheduler(void) {
    return one_in(20) ? (uint32_t)odd_number() : XEN_SCHEDULER_HYPERPERIOD;
}

/* Sound three times in four: budgets of 0 to all of periods from 1 us to 100 ms. */
static struct xen_domctl_sched_hyperperiod some_server(void) {
    struct xen_domctl_sched_hyperperiod server = {0, 0, XEN_HYPERPERIOD_PRIORITY};
    uint32_t longest = 10;
    if (one_in(4))
        return (struct xen_domctl_sched_hyperperiod){(uint32_t)odd_number(), (uint32_t)odd_number(),
                                                     (uint32_t)odd_number()};
    if (one_in(6)) {
        server.order |= XEN_HYPERPERIOD_BEST_EFFORT;
        return server;
    }
    for (uint32_t zeros = below(5); zeros > 0; zeros--)
        longest *= 10;
    server.period_us = 1 + below(longest);
    server.budget_us = 1 + below(server.period_us);
    if (one_in(3))
        server.order = below(20);
    if (one_in(3))
        server.order |= XEN_HYPERPERIOD_EXTRA;
    return server;
}

static void some_bytes(void *to, size_t count) {
    for (size_t i = 0; i < count; i++)
        ((uint8_t *)to)[i] = (uint8_t)draw();
}

static void fuzz_servers(void) {
    struct xen_domctl_scheduler_op *op = &shared->domctl.u.scheduler_op;
    struct xen_domctl_schedparam_vcpu *list = (void *)(shared->area + 8 * below(16));
    uint32_t count = one_in(4) ? below(200) : below(4);
    new_domctl(XEN_DOMCTL_scheduler_op, some_domain());
    if (one_in(20))
        some_bytes(op, sizeof(*op));
    op->sched_id = some_scheduler();
    op->cmd = one_in(20) ? (uint32_t)odd_number() : below(4);
    if (op->cmd == XEN_DOMCTL_SCHEDOP_putinfo || op->cmd == XEN_DOMCTL_SCHEDOP_getinfo) {
        struct xen_domctl_sched_hyperperiod server = some_server();
        memcpy(&op->u, &server, sizeof(server));
    } else {
        for (uint32_t i = 0; i < count; i++) {
            struct xen_domctl_sched_hyperperiod server = some_server();
            memcpy(&list[i].u, &server, sizeof(server));
            list[i].vcpuid = one_in(10) ? (uint32_t)odd_number() : below(3);
        }
        set_xen_guest_handle(op->u.v.vcpus, list);
        if (one_in(10))
            set_xen_guest_handle(op->u.v.vcpus, odd_pointer());
        op->u.v.nr_vcpus = one_in(20) ? (uint32_t)odd_number() : count;
        op->u.v.padding = one_in(20) ? (uint32_t)draw() : 0;
    }
    domctl();
}

static void draw_pool_request(struct xen_sysctl_hyperperiod *request) {
    struct hp_policy rules;
    memset(request, 0, sizeof(*request));
    request->op = one_in(20) ? (uint32_t)odd_number() : below(6);
    do {
        rules = (struct hp_policy){below(5), below(2), below(5)};
    } while (!hp_policy_legal(&rules, 1) && !one_in(4));
    request->budget = one_in(20) ? (uint32_t)odd_number() : rules.budget;
    request->order = one_in(20) ? (uint32_t)odd_number() : rules.order;
    request->slack = one_in(20) ? (uint32_t)odd_number() : rules.slack;
    request->global = one_in(20) ? (uint32_t)odd_number() : below(3) / 2;
    request->spare_period_ns = one_in(4) ? odd_number() : 1 + below(100000000);
    request->spare_budget_ns = one_in(4) ? odd_number() : draw() % (request->spare_period_ns | 1);
    request->ring_pcpu = some_pcpu();
    request->ring_count = one_in(10) ? (uint32_t)odd_number() : below(100);
    request->ring_from = one_in(2) ? odd_number() : 0;
    request->ring_open = one_in(20) ? (uint32_t)odd_number() : below(2);
    set_xen_guest_handle(request->ring_records, shared->area);
    if (one_in(10))
        set_xen_guest_handle(request->ring_records, odd_pointer());
    if (one_in(20))
        some_bytes(request, sizeof(*request));
}

static void fuzz_pool(void) {
    struct xen_sysctl_scheduler_op *op = &shared->sysctl.u.scheduler_op;
    XEN_GUEST_HANDLE_64(xen_sysctl_hyperperiod_t) handle;
    new_sysctl(XEN_SYSCTL_scheduler_op);
    draw_pool_request(&shared->hyperperiod);
    if (one_in(20))
        some_bytes(op, sizeof(*op));
    op->cpupool_id = some_pool();
    op->sched_id = some_scheduler();
    op->cmd = one_in(20) ? (uint32_t)odd_number() : below(2);
    set_xen_guest_handle(handle, &shared->hyperperiod);
    if (one_in(20))
        set_xen_guest_handle(handle, odd_pointer());
    memcpy(&op->u, &handle, sizeof(handle));
    sysctl();
}

/* Pools come and go, pcpus and guests change pools; Pool-0 keeps pcpu 0 and dom0. */
static void fuzz_pools(void) {
    struct xen_sysctl_cpupool_op *op = &shared->sysctl.u.cpupool_op;
    new_sysctl(XEN_SYSCTL_cpupool_op);
    op->op = one_in(20) ? (uint32_t)odd_number() : 1 + below(7);
    op->cpupool_id = some_pool();
    op->sched_id = some_scheduler();
    op->domid = some_domain();
    op->cpu = some_pcpu();
    if (op->op == XEN_SYSCTL_CPUPOOL_OP_CREATE && pool_count >= 4)
        op->op = XEN_SYSCTL_CPUPOOL_OP_DESTROY;
    set_xen_guest_handle(op->cpumap.bitmap, shared->map);
    op->cpumap.nr_bits = one_in(20) ? (uint32_t)odd_number() : 64;
    sysctl();
    look_around();
}

static void fuzz_domain(void) {
    uint32_t domain = some_domain();
    switch (below(4)) {
    case 0:
        new_domctl(XEN_DOMCTL_pausedomain, domain);
        break;
    case 1:
    case 2:
        new_domctl(XEN_DOMCTL_unpausedomain, domain);
        break;
    default:
        new_domctl(XEN_DOMCTL_setvcpuaffinity, domain);
        struct xen_domctl_vcpuaffinity *op = &shared->domctl.u.vcpuaffinity;
        op->vcpu = one_in(10) ? (uint32_t)odd_number() : below(3);
        op->flags = one_in(10) ? (uint32_t)odd_number() : 1 + below(3);
        some_bytes(shared->map, sizeof(shared->map));
        set_xen_guest_handle(op->cpumap_hard.bitmap, shared->map);
        set_xen_guest_handle(op->cpumap_soft.bitmap, shared->map + 32);
        op->cpumap_hard.nr_bits = op->cpumap_soft.nr_bits = one_in(4) ? 64 : PCPUS;
        break;
    }
    domctl();
}

/* All guests may run anywhere again. */
static void release_guests(void) {
    look_around();
    for (uint32_t i = 0; i < domain_count; i++) {
        for (uint32_t vcpu = 0; vcpu < 3; vcpu++) {
            new_domctl(XEN_DOMCTL_setvcpuaffinity, domains[i]);
            memset(shared->map, 0xff, sizeof(shared->map));
            shared->domctl.u.vcpuaffinity.vcpu = vcpu;
            shared->domctl.u.vcpuaffinity.flags = XEN_VCPUAFFINITY_HARD | XEN_VCPUAFFINITY_SOFT;
            set_xen_guest_handle(shared->domctl.u.vcpuaffinity.cpumap_hard.bitmap, shared->map);
            set_xen_guest_handle(shared->domctl.u.vcpuaffinity.cpumap_soft.bitmap, shared->map);
            shared->domctl.u.vcpuaffinity.cpumap_hard.nr_bits = 64;
            shared->domctl.u.vcpuaffinity.cpumap_soft.nr_bits = 64;
            domctl();
        }
        int error;
        do {
            new_domctl(XEN_DOMCTL_unpausedomain, domains[i]);
            error = domctl();
        } while (error == 0 || error == EACCES);
    }
}

int main(int count, char **word) {
    if (count != 3 && count != 4) {
        fprintf(stderr, "usage: fuzz SEED CALLS [pools]\n");
        return 2;
    }
    int with_pools = count == 4;
    uint64_t seed = strtoull(word[1], NULL, 10), wanted = strtoull(word[2], NULL, 10);
    state = seed * 0x9e3779b97f4a7c15ull + 1;
    calls = xencall_open(NULL, 0);
    shared = calls ? xencall_alloc_buffer_pages(calls, sizeof(*shared) / PAGE + 1) : NULL;
    /* Xen writes on from a pointer as long as it may: not into the memory of this program. */
    if (shared == NULL || mprotect(shared + 1, PAGE, PROT_NONE) != 0) {
        fprintf(stderr, "no way to the hypervisor\n");
        return 3;
    }
    printf("fuzz: seed %llu\n", (unsigned long long)seed);
    fflush(stdout);
    for (uint64_t call = 0; call < wanted; call++) {
        if (call % 500 == 0)
            look_around();
        uint32_t choice = below(200);
        if (choice < 110)
            fuzz_servers();
        else if (choice < 190)
            fuzz_pool();
        else if (choice < 197 || !with_pools)
            fuzz_domain();
        else
            fuzz_pools();
    }
    release_guests();
    uint64_t made = 0;
    for (uint32_t i = 0; i < ERRNOS; i++) {
        made += answers[i];
        if (answers[i] > 0)
            printf("fuzz: %8llu times: %s\n", (unsigned long long)answers[i],
                   i == 0 ? "done" : strerror((int)i));
    }
    printf("fuzz: %llu calls\n", (unsigned long long)made);
    return 0;
}
