// SPDX-License-Identifier: BSD-2-Clause
/*
 * A paravirtual guest that sees how much of a pcpu it gets, with no kernel below it.
 *
 * Words of the command line:
 *   workload=spin   every vcpu runs without end (the default)
 *   workload=sleep  every vcpu runs 'work' at each multiple of 'period', and sleeps in between
 *   workload=storm  every vcpu sleeps for 'work' and yields, over and over
 *   vcpus=N         vcpus that run (default 1; the others stay down)
 *   period=US, work=US, report=MS
 *
 * A vcpu reads the counter in a short loop; when two readings lie farther apart than GAP_NS,
 * somebody else had the pcpu in between. The first vcpu prints what all of them saw: totals since
 * the start of the guest, and the longest gap or response since the line before.
 */
#include "console.h"
#include "words/words.h"
#include "xen.h"

/* Far above one round of the loop, and far below any time that a scheduler takes away. */
#define GAP_NS 20000u

struct seen {
    uint64_t start_ns;
    uint64_t now_ns;
    uint64_t got_ns;     /* in the loop, gaps taken off */
    uint64_t gaps;       /* how many */
    uint64_t longest_ns; /* gap */
    uint64_t jobs;
    uint64_t late; /* jobs that ended after the next one's release */
    uint64_t response_ns;
};

static const struct start_info *info;
static struct seen seen[MAX_VCPUS];
static uint64_t vcpus = 1, period_ns = 10000000, work_ns = 2000000, report_ns = 500000000;
static enum { SPIN, SLEEP, STORM } workload;
static uint64_t next_report_ns;

/* What stands after NAME= on the command line, or what is given. */
static struct word option(const char *name, const char *otherwise) {
    struct word rest = word_of((const char *)info->cmd_line);
    while (rest.start != 0) {
        struct word value = word_cut(&rest, ' ');
        if (word_is(word_cut(&value, '='), name) && value.start != 0)
            return value;
    }
    return word_of(otherwise);
}

/* A number there; the default if it is none. */
static uint64_t number(const char *name, uint64_t otherwise) {
    hp_u64 found;
    return word_number(option(name, ""), ~0ull, &found) ? found : otherwise;
}

static void report(unsigned int self) {
    for (unsigned int vcpu = 0; vcpu < vcpus; vcpu++) {
        struct seen *of = &seen[vcpu];
        put_text("seen");
        put_value("vcpu", vcpu);
        put_value("elapsed_ns", of->now_ns - of->start_ns);
        put_value("got_ns", of->got_ns);
        put_value("gaps", of->gaps);
        put_value("longest_ns", of->longest_ns);
        put_value("jobs", of->jobs);
        put_value("late", of->late);
        put_value("response_ns", of->response_ns);
        end_line();
        of->longest_ns = 0;
        of->response_ns = 0;
    }
    next_report_ns = system_time_ns(self) + report_ns;
}

/* Runs until it got so much time of its own; 0: for ever. */
static void burn(unsigned int vcpu, uint64_t want_ns) {
    struct seen *of = &seen[vcpu];
    uint64_t last = read_ticks();
    uint64_t end_ns = of->got_ns + want_ns;
    uint64_t count = 0;
    do {
        uint64_t now = read_ticks();
        uint64_t passed_ns = ticks_to_ns(vcpu, now - last);
        if (passed_ns > GAP_NS) {
            of->gaps++;
            if (passed_ns > of->longest_ns)
                of->longest_ns = passed_ns;
        } else {
            of->got_ns += passed_ns;
        }
        last = now;
        if (++count % 256 == 0) {
            of->now_ns = system_time_ns(vcpu);
            if (vcpu == 0 && of->now_ns >= next_report_ns)
                report(vcpu);
        }
    } while (want_ns == 0 || of->got_ns < end_ns);
}

static void work_periodically(unsigned int vcpu) {
    struct seen *of = &seen[vcpu];
    uint64_t release_ns = (of->start_ns / period_ns + 1) * period_ns;
    for (;;) {
        sleep_until(vcpu, release_ns);
        burn(vcpu, work_ns);
        of->now_ns = system_time_ns(vcpu);
        of->jobs++;
        if (of->now_ns - release_ns > of->response_ns)
            of->response_ns = of->now_ns - release_ns;
        if (of->now_ns - release_ns > period_ns)
            of->late++;
        /* Releases that passed meanwhile are left out, so that no backlog grows. */
        release_ns += ((of->now_ns - release_ns) / period_ns + 1) * period_ns;
        if (vcpu == 0 && of->now_ns >= next_report_ns)
            report(vcpu);
    }
}

static void storm(unsigned int vcpu) {
    struct seen *of = &seen[vcpu];
    for (;;) {
        sleep_until(vcpu, system_time_ns(vcpu) + work_ns);
        sched_op(SCHEDOP_yield, 0);
        of->jobs++;
        of->now_ns = system_time_ns(vcpu);
        if (vcpu == 0 && of->now_ns >= next_report_ns)
            report(vcpu);
    }
}

static void work(uint64_t vcpu) {
    struct seen *of = &seen[vcpu];
    of->start_ns = of->now_ns = system_time_ns((unsigned int)vcpu);
    if (workload == SLEEP)
        work_periodically((unsigned int)vcpu);
    if (workload == STORM)
        storm((unsigned int)vcpu);
    burn((unsigned int)vcpu, 0);
}

void begin(const struct start_info *start) {
    info = start;
    if (word_is(option("workload", "spin"), "sleep"))
        workload = SLEEP;
    if (word_is(option("workload", "spin"), "storm"))
        workload = STORM;
    vcpus = number("vcpus", vcpus);
    if (vcpus > MAX_VCPUS)
        vcpus = MAX_VCPUS;
    period_ns = number("period", period_ns / 1000) * 1000;
    work_ns = number("work", work_ns / 1000) * 1000;
    report_ns = number("report", report_ns / 1000000) * 1000000;
    open_shared_page(info);
    open_console(info);
    put_text("begins");
    put_value("vcpus", vcpus);
    end_line();
    for (unsigned int vcpu = 0; vcpu < vcpus; vcpu++)
        open_alarm(vcpu);
    for (unsigned int vcpu = 1; vcpu < vcpus; vcpu++)
        start_vcpu(info, vcpu, work);
    next_report_ns = system_time_ns(0) + report_ns;
    work(0);
}
