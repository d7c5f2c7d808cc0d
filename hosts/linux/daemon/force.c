// SPDX-License-Identifier: BSD-2-Clause
#include "force.h"

#include <stdio.h>
#include <string.h>

#include "kernel.h"
#include "log.h"
#include "members.h"
#include "patterns.h"
#include "save.h"

/* Of the kernel's reasons (enum scx_exit_kind): those below are somebody's wish. */
#define FIRST_ERROR 1024u

/* A cgroup that went may be back as another one, as that of a service that was started again. */
static void find_again(struct system *system, struct member *member) {
    const uint64_t id = kernel_cgroup(member->path);

    if (id == member->id)
        return;
    if (system->running)
        kernel_detach(system, member);
    member->id = id;
    const char *why = system->running ? kernel_attach(system, member) : NULL;

    if (why != NULL) {
        say(LOG_ERR, "%s: %s", member->path, why);
        member->id = 0;
    }
}

void forget_ended(struct system *system) {
    for (uint32_t i = system->member_count; i > 0; i--)
        if (has_ended(&system->member[i - 1]))
            system->member[i - 1] = system->member[--system->member_count];
}

void renew_members(struct system *system) {
    system->renewed_ns = kernel_clock_ns();
    forget_ended(system);
    for (uint32_t i = 0; i < system->member_count; i++) {
        struct member *member = &system->member[i];
        if (member->kind == BY_CGROUP && member->pattern == 0 && member->brought == 0)
            find_again(system, member);
    }
    renew_patterns(system);
}

const char *put_in_force(struct system *system, uint64_t epoch_ns) {
    renew_members(system);
    const char *why = kernel_start(system, epoch_ns);

    if (why != NULL)
        return why;
    system->running = true;
    system->again_ns = 0;
    system->since_ns = kernel_clock_ns();
    tell_systemd("STATUS=in force");
    return NULL;
}

void take_out_of_force(struct system *system) {
    if (system->running)
        kernel_stop();
    system->running = false;
    system->again_ns = 0;
    tell_systemd("STATUS=nothing is in force");
}

/* It is not in force, and may be tried again later. */
static bool wait_after(struct system *system, const char *what, const char *why) {
    const uint64_t wait_s = 1ull << system->tries;
    char status[1024];

    if (system->tries == TRIES) {
        say(LOG_ERR, "%s: %s; the kernel's own goes on, after %u tries for good", what, why, TRIES);
        return false;
    }
    system->tries++;
    system->again_ns = kernel_clock_ns() + wait_s * NS_PER_S;
    snprintf(status, sizeof(status), "STATUS=%s: %s; tried again in %llu s", what, why,
             (unsigned long long)wait_s);
    say(LOG_ERR, "%s", status + sizeof("STATUS=") - 1);
    tell_systemd(status);
    return true;
}

static bool look_whether_it_runs(struct system *system) {
    static const char what[] = "the kernel has ended the scheduler";
    char why_bytes[sizeof(system->ended)];
    struct text why = text_in(why_bytes, sizeof(why_bytes));

    if (kernel_runs(&why)) {
        if (kernel_clock_ns() - system->renewed_ns >= NS_PER_S)
            renew_members(system);
        return true;
    }
    memcpy(system->ended, why_bytes, sizeof(why_bytes));
    const uint64_t kind = kernel_state()->exit_kind;
    const bool was_well = kernel_clock_ns() - system->since_ns >= LONG_NS;

    take_out_of_force(system);
    system->ends++;
    if (was_well)
        system->tries = 0;
    if (kind >= FIRST_ERROR)
        return wait_after(system, what, why.bytes);
    say(LOG_ERR, "%s: %s; its own goes on", what, why.bytes);
    keep_requests(system);
    return true;
}

bool look_after(struct system *system) {
    if (system->running)
        return look_whether_it_runs(system);
    if (system->again_ns == 0 || kernel_clock_ns() < system->again_ns)
        return true;
    system->again_ns = 0;
    const char *why = put_in_force(system, 0);

    if (why != NULL)
        return wait_after(system, "the system is not in force again", why);
    say(LOG_NOTICE, "the system is in force again");
    return true;
}
