// SPDX-License-Identifier: BSD-2-Clause
//
// A domain 0 that sets the parameters of other domains under a scheduler of Xen's own, and sleeps
// for good from then on. What is to be set comes as an initial ramdisk: a table of settings.
//
// Xen's layouts are those of include/public/domctl.h of Xen 4.20.

#include "guests/board/board.h"
#include "guests/executive/tree.h"

#define XEN_DOMCTL 36u
#define INTERFACE_VERSION 0x17u
#define SCHEDULER_OP 16u
#define PUT_INFO 0u
#define PUT_VCPU_INFO 2u

#define WHOLE_DOMAIN 0xffffffffu

/* A row of the table. A vcpu's parameters end with its number, as Xen has it. */
struct setting {
    hp_u32 scheduler;
    hp_u32 domain;
    hp_u32 parameters[3];
    hp_u32 vcpu; /* or WHOLE_DOMAIN */
};

struct request {
    hp_u32 command;
    hp_u32 version;
    hp_u64 domain;
    hp_u32 scheduler;
    hp_u32 scheduler_command;
    union {
        hp_u32 parameters[3];
        struct {
            const hp_u32 *parameters;
            hp_u32 count;
        } of_vcpus;
    };
    hp_u8 unused[104];
};

_Static_assert(sizeof(struct request) == 144, "struct xen_domctl");

static hp_i64 set(const struct setting *wanted) {
    static struct request request = {.command = SCHEDULER_OP, .version = INTERFACE_VERSION};

    request.domain = wanted->domain;
    request.scheduler = wanted->scheduler;
    if (wanted->vcpu == WHOLE_DOMAIN) {
        request.scheduler_command = PUT_INFO;
        request.parameters[0] = wanted->parameters[0];
    } else {
        request.scheduler_command = PUT_VCPU_INFO;
        request.of_vcpus.parameters = wanted->parameters;
        request.of_vcpus.count = 1;
    }
    return hypercall(XEN_DOMCTL, (hp_u64)&request, 0, 0);
}

static void require(hp_i64 result, hp_u32 domain) {
    if (result == 0)
        return;
    print("hyperperiod: domain ");
    print_number(domain);
    print(" does not take its parameters, error ");
    print_number((hp_u64)-result);
    print("\n");
}

_Noreturn void guest_main(const void *tree) {
    hp_u64 start = tree_number(tree_chosen(tree, "linux,initrd-start"));
    hp_u64 end = tree_number(tree_chosen(tree, "linux,initrd-end"));
    const struct setting *last = (const struct setting *)end;

    for (const struct setting *each = (const struct setting *)start; each < last; each++)
        require(set(each), each->domain);
    while (1)
        sleep();
}

_Noreturn void guest_main_of_vcpu(hp_u64 vcpu) {
    (void)vcpu;
    while (1)
        sleep();
}
