// SPDX-License-Identifier: BSD-2-Clause
/*
 * Hypercalls, through libxencall.
 *
 * libxencall is the stable half of Xen's libraries: it moves the registers, and the public
 * headers say what is in memory. So this works with the toolstack that a distribution ships, and
 * stops with a message when the hypervisor's interface is another version than the headers'.
 */
#include "hypervisor.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include <xen/version.h>
#include <xencall.h>

#include "message.h"

/* Neither may make a structure of Xen's larger: stock tools would break. */
_Static_assert(sizeof(struct xen_domctl_sched_hyperperiod)
                   <= sizeof(((struct xen_domctl_schedparam_vcpu *)0)->u),
               "the server fits into a schedparam_vcpu");
_Static_assert(sizeof(XEN_GUEST_HANDLE_64(uint8))
                   <= sizeof(((struct xen_sysctl_scheduler_op *)0)->u),
               "the pointer fits into a scheduler_op");

static xencall_handle *calls;

void *shared_memory(size_t bytes) {
    void *memory = xencall_alloc_buffer(calls, bytes);
    if (memory == NULL)
        fail(LACKS, "no memory of %zu bytes for a hypercall", bytes);
    memset(memory, 0, bytes);
    return memory;
}

/* The same few buffers serve all calls: a program like this makes one at a time. */
static struct buffers {
    struct xen_sysctl sysctl;
    struct xen_domctl domctl;
    struct xen_sysctl_hyperperiod hyperperiod;
    struct xen_domctl_schedparam_vcpu vcpu;
    struct xen_domctl_getdomaininfo domain;
    uint8_t pcpus[MAX_PCPUS / 8];
    char text[1024];
} *buffers;

void open_hypervisor(void) {
    calls = xencall_open(NULL, 0);
    if (calls == NULL)
        fail(LACKS, "no way to the hypervisor: this must run as the superuser in dom0 of Xen, with "
                    "the module xen-privcmd loaded (modprobe xen-privcmd)");
    buffers = shared_memory(sizeof(*buffers));
}

static int result_of(int result) {
    return result < 0 ? errno : 0;
}

static struct xen_sysctl *new_sysctl(uint32_t command) {
    memset(&buffers->sysctl, 0, sizeof(buffers->sysctl));
    buffers->sysctl.cmd = command;
    buffers->sysctl.interface_version = XEN_SYSCTL_INTERFACE_VERSION;
    return &buffers->sysctl;
}

static int call_sysctl(void) {
    int error = result_of(xencall1(calls, __HYPERVISOR_sysctl, (uint64_t)&buffers->sysctl));
    if (error == EACCES)
        fail(LACKS, "this hypervisor's sysctl interface is another version than %#x, that of Xen "
                    "4.20",
             XEN_SYSCTL_INTERFACE_VERSION);
    return error;
}

/* How often, and how long between, a change of a pool is tried that Xen says may work later. */
#define TRIES 200
#define PAUSE_US 5000

static int try_pool(struct xen_sysctl_cpupool_op *op) {
    struct xen_sysctl *sysctl = new_sysctl(XEN_SYSCTL_cpupool_op);
    memset(buffers->pcpus, 0, sizeof(buffers->pcpus));
    sysctl->u.cpupool_op = *op;
    set_xen_guest_handle(sysctl->u.cpupool_op.cpumap.bitmap, buffers->pcpus);
    sysctl->u.cpupool_op.cpumap.nr_bits = MAX_PCPUS;
    int error = call_sysctl();
    *op = sysctl->u.cpupool_op;
    return error;
}

static int call_pool(struct xen_sysctl_cpupool_op *op) {
    const struct xen_sysctl_cpupool_op wanted = *op;
    int error = try_pool(op);
    /* A pcpu leaves only when the vcpus on it have left. */
    bool removes = wanted.op == XEN_SYSCTL_CPUPOOL_OP_RMCPU;
    for (int i = 0; (error == EAGAIN || (error == EBUSY && removes)) && i < TRIES; i++) {
        usleep(PAUSE_US);
        *op = wanted;
        error = try_pool(op);
    }
    return error;
}

int find_pool(uint32_t from, struct pool *pool) {
    struct xen_sysctl_cpupool_op op = {.op = XEN_SYSCTL_CPUPOOL_OP_INFO, .cpupool_id = from};
    int error = call_pool(&op);
    if (error != 0)
        return error;
    pool->id = op.cpupool_id;
    pool->scheduler = op.sched_id;
    pool->domains = op.n_dom;
    memcpy(pool->pcpus, buffers->pcpus, sizeof(pool->pcpus));
    return 0;
}

int free_pcpus(uint8_t pcpus[MAX_PCPUS / 8]) {
    struct xen_sysctl_cpupool_op op = {.op = XEN_SYSCTL_CPUPOOL_OP_FREEINFO};
    int error = call_pool(&op);
    memcpy(pcpus, buffers->pcpus, MAX_PCPUS / 8);
    return error;
}

int create_pool(uint32_t *id, uint32_t scheduler) {
    struct xen_sysctl_cpupool_op op = {
        .op = XEN_SYSCTL_CPUPOOL_OP_CREATE,
        .cpupool_id = XEN_SYSCTL_CPUPOOL_PAR_ANY,
        .sched_id = scheduler,
    };
    int error = call_pool(&op);
    *id = op.cpupool_id;
    return error;
}

int destroy_pool(uint32_t id) {
    struct xen_sysctl_cpupool_op op = {.op = XEN_SYSCTL_CPUPOOL_OP_DESTROY, .cpupool_id = id};
    return call_pool(&op);
}

static int change_pcpu(uint32_t command, uint32_t pool, uint32_t pcpu) {
    struct xen_sysctl_cpupool_op op = {.op = command, .cpupool_id = pool, .cpu = pcpu};
    return call_pool(&op);
}

int add_pcpu(uint32_t pool, uint32_t pcpu) {
    return change_pcpu(XEN_SYSCTL_CPUPOOL_OP_ADDCPU, pool, pcpu);
}

int remove_pcpu(uint32_t pool, uint32_t pcpu) {
    return change_pcpu(XEN_SYSCTL_CPUPOOL_OP_RMCPU, pool, pcpu);
}

int move_domain(uint32_t domain, uint32_t pool) {
    struct xen_sysctl_cpupool_op op = {
        .op = XEN_SYSCTL_CPUPOOL_OP_MOVEDOMAIN,
        .cpupool_id = pool,
        .domid = domain,
    };
    return call_pool(&op);
}

int find_domain(uint32_t from, struct domain *domain) {
    struct xen_sysctl *sysctl = new_sysctl(XEN_SYSCTL_getdomaininfolist);
    sysctl->u.getdomaininfolist.first_domain = (domid_t)from;
    sysctl->u.getdomaininfolist.max_domains = 1;
    set_xen_guest_handle(sysctl->u.getdomaininfolist.buffer, &buffers->domain);
    int error = call_sysctl();
    if (error != 0)
        return error;
    if (sysctl->u.getdomaininfolist.num_domains == 0)
        return ENOENT;
    domain->id = buffers->domain.domain;
    domain->pool = buffers->domain.cpupool;
    /* The highest number is -1 while it has none. */
    domain->vcpus = (uint32_t)buffers->domain.max_vcpu_id + 1;
    return 0;
}

int count_idle_states(uint32_t pcpu, uint32_t *count) {
    struct xen_sysctl *sysctl = new_sysctl(XEN_SYSCTL_get_pmstat);
    sysctl->u.get_pmstat.type = PMSTAT_get_max_cx;
    sysctl->u.get_pmstat.cpuid = pcpu;
    int error = call_sysctl();
    *count = sysctl->u.get_pmstat.u.getcx.nr;
    return error;
}

static int call_scheduler_of(uint32_t pool, uint32_t command, struct xen_sysctl_hyperperiod *what) {
    struct xen_sysctl *sysctl = new_sysctl(XEN_SYSCTL_scheduler_op);
    XEN_GUEST_HANDLE_64(xen_sysctl_hyperperiod_t) handle;
    sysctl->u.scheduler_op.cpupool_id = pool;
    sysctl->u.scheduler_op.sched_id = XEN_SCHEDULER_HYPERPERIOD;
    sysctl->u.scheduler_op.cmd = command;
    buffers->hyperperiod = *what;
    set_xen_guest_handle(handle, &buffers->hyperperiod);
    memcpy(&sysctl->u.scheduler_op.u, &handle, sizeof(handle));
    int error = call_sysctl();
    *what = buffers->hyperperiod;
    return error;
}

int tell_pool(uint32_t pool, struct xen_sysctl_hyperperiod *what) {
    return call_scheduler_of(pool, XEN_SYSCTL_SCHEDOP_putinfo, what);
}

int ask_pool(uint32_t pool, struct xen_sysctl_hyperperiod *what) {
    return call_scheduler_of(pool, XEN_SYSCTL_SCHEDOP_getinfo, what);
}

static int call_domctl(void) {
    int error = result_of(xencall1(calls, __HYPERVISOR_domctl, (uint64_t)&buffers->domctl));
    if (error == EACCES)
        fail(LACKS, "this hypervisor's domctl interface is another version than %#x, that of Xen "
                    "4.20",
             XEN_DOMCTL_INTERFACE_VERSION);
    return error;
}

static struct xen_domctl *new_domctl(uint32_t command, uint32_t domain) {
    memset(&buffers->domctl, 0, sizeof(buffers->domctl));
    buffers->domctl.cmd = command;
    buffers->domctl.interface_version = XEN_DOMCTL_INTERFACE_VERSION;
    buffers->domctl.domain = (domid_t)domain;
    return &buffers->domctl;
}

int find_pcpu(uint32_t domain, uint32_t vcpu, uint32_t *pcpu) {
    struct xen_domctl *domctl = new_domctl(XEN_DOMCTL_getvcpuinfo, domain);
    domctl->u.getvcpuinfo.vcpu = vcpu;
    int error = call_domctl();
    *pcpu = domctl->u.getvcpuinfo.cpu;
    return error;
}

int hold_domain(uint32_t domain) {
    new_domctl(XEN_DOMCTL_pausedomain, domain);
    return call_domctl();
}

int release_domain(uint32_t domain) {
    new_domctl(XEN_DOMCTL_unpausedomain, domain);
    return call_domctl();
}

/* One vcpu by the list of vcpus, all of them by the domain's own parameters. */
static int call_scheduler_for(uint32_t domain, uint32_t vcpu, bool put,
                              struct xen_domctl_sched_hyperperiod *server) {
    struct xen_domctl *domctl = new_domctl(XEN_DOMCTL_scheduler_op, domain);
    struct xen_domctl_scheduler_op *op = &domctl->u.scheduler_op;
    bool all = vcpu == ALL_VCPUS;
    void *place = all ? (void *)&op->u : (void *)&buffers->vcpu.u;

    memset(&buffers->vcpu, 0, sizeof(buffers->vcpu));
    op->sched_id = XEN_SCHEDULER_HYPERPERIOD;
    if (all)
        op->cmd = put ? XEN_DOMCTL_SCHEDOP_putinfo : XEN_DOMCTL_SCHEDOP_getinfo;
    else
        op->cmd = put ? XEN_DOMCTL_SCHEDOP_putvcpuinfo : XEN_DOMCTL_SCHEDOP_getvcpuinfo;
    if (!all) {
        buffers->vcpu.vcpuid = vcpu;
        set_xen_guest_handle(op->u.v.vcpus, &buffers->vcpu);
        op->u.v.nr_vcpus = 1;
    }
    if (put)
        memcpy(place, server, sizeof(*server));
    int error = call_domctl();
    if (!put)
        memcpy(server, place, sizeof(*server));
    return error;
}

int set_server(uint32_t domain, uint32_t vcpu, const struct xen_domctl_sched_hyperperiod *server) {
    struct xen_domctl_sched_hyperperiod copy = *server;
    return call_scheduler_for(domain, vcpu, true, &copy);
}

int get_server(uint32_t domain, uint32_t vcpu, struct xen_domctl_sched_hyperperiod *server) {
    return call_scheduler_for(domain, vcpu, false, server);
}

static void ask_text(uint32_t what, char *text, size_t size) {
    memset(buffers->text, 0, sizeof(buffers->text));
    if (xencall2(calls, __HYPERVISOR_xen_version, what, (uint64_t)buffers->text) < 0)
        return;
    snprintf(text, size, "%s", buffers->text);
}

void ask_about(struct about *about) {
    int version = xencall2(calls, __HYPERVISOR_xen_version, XENVER_version, 0);
    memset(about, 0, sizeof(*about));
    if (version >= 0) {
        about->major = (uint32_t)version >> 16;
        about->minor = (uint32_t)version & 0xffff;
    }
    ask_text(XENVER_extraversion, about->extra, sizeof(about->extra));
    ask_text(XENVER_capabilities, about->capabilities, sizeof(about->capabilities));
    ask_text(XENVER_commandline, about->command_line, sizeof(about->command_line));
}
