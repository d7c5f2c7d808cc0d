/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The least that a sched_ext scheduler can be: it has a name. The kernel then takes all threads in
 * the order in which they woke up, from one queue.
 */
#include <vmlinux.h>

#include <bpf/bpf_helpers.h>

char _license[] SEC("license") = "GPL";

SEC(".struct_ops.link")
struct sched_ext_ops scheduler = {
    .name = "fifo",
};
