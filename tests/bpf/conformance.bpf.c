// SPDX-License-Identifier: GPL-2.0-only
/*
 * The BPF side of the conformance test: the core, as the kernel's verifier accepted it, living
 * through the events of scenario.h.
 *
 * User space maps the section that holds the life, sets its seed and configuration, and runs
 * these programs by BPF_PROG_TEST_RUN. A run does only a batch of events: the kernel lets one
 * run loop for a quarter of a second at most.
 */
#define SEC(name) __attribute__((section(name), used))

#define SCENARIO_PART __attribute__((noinline))
#include "hosts/linux/environment.bpf.h"

#include "tests/bpf/scenario.h"

/* Zero, which the verifier must not know (environment.bpf.h). */
volatile hp_u64 hp_zero SEC(".bss.zero");

struct scenario life SEC(".data.life");

/* How many events the next run does. */
hp_u32 batch SEC(".data.batch");

SEC("syscall")
int start(void *context) {
    (void)context;
    return (int)scenario_start();
}

SEC("syscall")
int reconfigure(void *context) {
    (void)context;
    scenario_reconfigure();
    return 0;
}

SEC("syscall")
int live(void *context) {
    (void)context;
    HP_FOR (event, batch)
        scenario_live();
    return 0;
}

char _license[] SEC("license") = "GPL";
