// SPDX-License-Identifier: BSD-2-Clause
/*
 * Every entry of the core's contract, once, behind an external name, so that a compiler has to
 * translate all of it and nm can say what it needs from outside. It is never run.
 */
#ifdef __clang_analyzer__
/* What the core asserts is proved and fuzzed elsewhere (docs/proved.md): the analyzer may rely on
 * it. */
#define HP_ASSERT(condition) ((condition) ? (void)0 : __builtin_unreachable())
#endif
#include "core/draw.h"
#include "core/hyperperiod.h"

/* Where the BPF build starts its loops (hosts/linux/environment.bpf.h). */
volatile hp_u64 hp_zero;

hp_u32 entry_init(struct hp_core *core, const struct hp_config *config, hp_u64 now_ns) {
    return hp_init(core, config, now_ns);
}

hp_u32 entry_add(struct hp_core *core, hp_u32 vcpu, const struct hp_params *params, hp_u64 now_ns) {
    return hp_add(core, vcpu, params, now_ns);
}

hp_u32 entry_update(struct hp_core *core, hp_u32 vcpu, const struct hp_params *params,
                    hp_u64 now_ns) {
    return hp_update(core, vcpu, params, now_ns);
}

hp_u32 entry_remove(struct hp_core *core, hp_u32 vcpu, hp_u64 now_ns) {
    return hp_remove(core, vcpu, now_ns);
}

void entry_arrive(struct hp_core *core, hp_u32 vcpu, hp_u64 now_ns) {
    hp_arrive(core, vcpu, now_ns);
}

void entry_depart(struct hp_core *core, hp_u32 vcpu, hp_u64 now_ns) {
    hp_depart(core, vcpu, now_ns);
}

const struct hp_grant *entry_pick(struct hp_core *core, hp_u32 pcpu, hp_u64 now_ns) {
    return hp_pick(core, pcpu, now_ns);
}

hp_u64 entry_kicks(struct hp_core *core, hp_u64 now_ns) {
    return hp_kicks(core, now_ns);
}

hp_u32 entry_set_policy(struct hp_core *core, const struct hp_policy *policy, hp_u64 now_ns) {
    return hp_set_policy(core, policy, now_ns);
}

hp_u32 entry_set_spare(struct hp_core *core, hp_u64 period_ns, hp_u64 budget_ns, hp_u64 now_ns) {
    return hp_set_spare(core, period_ns, budget_ns, now_ns);
}

hp_u32 entry_check(struct hp_core *core, hp_u64 now_ns) {
    return hp_check(core, now_ns);
}

hp_u64 entry_draw(hp_u64 seed, hp_u32 domain, hp_u32 task, hp_u32 job, hp_u32 stream) {
    return hp_draw_between(hp_draw(seed, domain, task, job, stream), 1, 1000);
}
