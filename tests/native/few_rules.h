/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A host that offers a few rules only, as Kconfig can have it in Xen: included first when the
 * fuzzer of the core is built so. ONE_POLICY: RTDS alone.
 */
#ifdef ONE_POLICY
#define FEW 0u
#else
#define FEW 1u
#endif

#define HP_OFFERS(RULE) OFFERED_##RULE
#define OFFERED_BUDGET_PERIODIC FEW
#define OFFERED_BUDGET_DEFERRABLE 1u
#define OFFERED_BUDGET_POLLING 0u
#define OFFERED_BUDGET_SPORADIC 0u
#define OFFERED_BUDGET_CBS FEW
#define OFFERED_BUDGET_SLICE 0u
#define OFFERED_BUDGET_SLICE_ONCE 0u
#define OFFERED_ORDER_FP FEW
#define OFFERED_ORDER_EDF 1u
#define OFFERED_ORDER_FP_EDF 0u
#define OFFERED_SLACK_NONE FEW
#define OFFERED_SLACK_LEND FEW
#define OFFERED_SLACK_RECLAIM 0u
#define OFFERED_SLACK_SPARE 0u
#define OFFERED_SLACK_EXTRA 1u
#define OFFERED_SLACK_WEIGHTS 0u
