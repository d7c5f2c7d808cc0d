// SPDX-License-Identifier: BSD-2-Clause
/*
 * Drives two builds of the core through the same random lives and compares all they say:
 *
 *     conformance OBJECT EVENTS SEED [POLICY...]
 *
 * One build is gcc's, in this program; the other is OBJECT, the BPF build, loaded through the
 * kernel's verifier and run by BPF_PROG_TEST_RUN. Each policy, "budget+order+slack" or with
 * "+global", sees EVENTS events in lives of LIFE_EVENTS each. After every run of some
 * events the hashes of all answers and every byte of both states must be equal.
 *
 * Exit code: 0 identical, 1 different, broken or refused by the verifier, 77 this machine does
 * not allow it (the reason is printed).
 */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include <bpf/bpf.h>
#include <bpf/libbpf.h>

#include "tests/bpf/scenario.h"

#define EXIT_SKIPPED 77

/* Mean length of a run of events between two changes of parameters. */
#define RUN_EVENTS 16u
#define LIFE_EVENTS 50000u

static const char *const budgets[] = {HP_BUDGETS(HP_RULE_NAME)};
static const char *const orders[] = {HP_ORDERS(HP_RULE_NAME)};
static const char *const slacks[] = {HP_SLACKS(HP_RULE_NAME)};

#define COUNT(array) ((hp_u32)(sizeof(array) / sizeof(array[0])))

/* The loaded BPF build: its programs, and its memory mapped into this process. */
struct bpf_build {
    int start_fd;
    int reconfigure_fd;
    int live_fd;
    struct scenario *life;
    hp_u32 *batch;
};

static struct bpf_build bpf;
struct scenario life; /* lived by gcc's build */

static int keep_warnings(enum libbpf_print_level level, const char *format, va_list arguments) {
    return level == LIBBPF_WARN ? vfprintf(stderr, format, arguments) : 0;
}

static void fail(const char *what) {
    fprintf(stderr, "conformance: %s: %s\n", what, strerror(errno));
    exit(EXIT_FAILURE);
}

/* The memory of a section of the BPF build. */
static void *map_section(struct bpf_object *object, const char *name, size_t bytes) {
    struct bpf_map *map = bpf_object__find_map_by_name(object, name);
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    void *memory;

    if (!map || bpf_map__value_size(map) < bytes) {
        fprintf(stderr, "conformance: the object has no section %s of %zu bytes\n", name, bytes);
        exit(EXIT_FAILURE);
    }
    bytes = (bytes + page - 1) / page * page;
    memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, bpf_map__fd(map), 0);
    if (memory == MAP_FAILED)
        fail(name);
    return memory;
}

static int program_fd(struct bpf_object *object, const char *name) {
    struct bpf_program *program = bpf_object__find_program_by_name(object, name);

    if (!program) {
        fprintf(stderr, "conformance: the object has no program %s\n", name);
        exit(EXIT_FAILURE);
    }
    return bpf_program__fd(program);
}

/* Leaves with code 77 where bpf() may not be called at all. */
static void require_bpf(void) {
    int supported = libbpf_probe_bpf_prog_type(BPF_PROG_TYPE_SYSCALL, NULL);

    if (supported == 1)
        return;
    printf("skipped: this machine does not let us load BPF programs (%s)\n",
           supported < 0 ? strerror(-supported) : "no program type 'syscall', or not root");
    exit(EXIT_SKIPPED);
}

static void load(const char *path) {
    struct bpf_object *object;

    libbpf_set_print(keep_warnings);
    object = bpf_object__open_file(path, NULL);
    if (!object)
        fail(path);
    if (bpf_object__load(object))
        fail("the verifier refused the core");
    bpf.start_fd = program_fd(object, "start");
    bpf.reconfigure_fd = program_fd(object, "reconfigure");
    bpf.live_fd = program_fd(object, "live");
    bpf.life = map_section(object, ".data.life", sizeof(struct scenario));
    bpf.batch = map_section(object, ".data.batch", sizeof(hp_u32));
}

/* Runs a program of the BPF build and returns what it returned. */
static hp_u32 run_program(int fd) {
    LIBBPF_OPTS(bpf_test_run_opts, options);

    if (bpf_prog_test_run_opts(fd, &options))
        fail("BPF_PROG_TEST_RUN");
    return options.retval;
}

static double seconds(void) {
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

/* Makes both lives anew: a random configuration under this policy. */
static void configure(const struct hp_policy *policy, int global, hp_u64 seed) {
    memset(&life, 0, sizeof(life));
    life.random = seed;
    life.unit_ns = 1u + scenario_below(3u) * 499u;
    if (hp_slack_traits(policy->slack) & HP_HAS_SHARES) /* periods that are longer than shares */
        life.unit_ns *= 200u;
    life.swaps = scenario_below(2u);
    life.config.policy = *policy;
    life.config.pcpus = global ? 2u + scenario_below(SCENARIO_PCPUS - 1u) : 1u;
    if (scenario_below(4u) == 0)
        life.config.quantum_ns = life.unit_ns;
    if (hp_slack_traits(policy->slack) & HP_HAS_SPARE || scenario_below(2u)) {
        life.config.spare_period_ns = life.unit_ns * (1u + scenario_below(40u));
        life.config.spare_budget_ns = life.config.spare_period_ns;
    }
    memcpy(bpf.life, &life, sizeof(life));
}

/*
 * The law that gcc's build finds broken in its state, or 0. It looks at a copy: the check brings
 * accounts up to date, which the BPF build, where it does not run, would not do.
 */
static hp_u32 broken_law(void) {
    static struct hp_core copy;

    memcpy(&copy, &life.core, sizeof(copy));
    return hp_check(&copy, life.now_ns);
}

/* Says where two states first differ. */
static int explain(const char *name, hp_u64 seed) {
    const unsigned char *left = (const unsigned char *)&life;
    const unsigned char *right = (const unsigned char *)bpf.life;
    size_t at = 0;

    while (at < sizeof(life) && left[at] == right[at])
        at++;
    printf("%s: seed %llu: the builds differ after event %llu of gcc's, %llu of BPF's, "
           "byte %zu of the scenario (core from byte %zu)\n",
           name, seed, life.events, bpf.life->events, at, offsetof(struct scenario, core));
    return EXIT_FAILURE;
}

/* The same stretch of both lives: a change of parameters, then a run of events. */
static void advance(double spent[2]) {
    const hp_u32 events = 1u + scenario_below(2u * RUN_EVENTS);
    const double begin = seconds();
    double middle;

    bpf.life->random = life.random;
    scenario_reconfigure();
    for (hp_u32 i = 0; i < events; i++)
        scenario_live();
    middle = seconds();
    *bpf.batch = events;
    run_program(bpf.reconfigure_fd);
    run_program(bpf.live_fd);
    spent[0] += middle - begin;
    spent[1] += seconds() - middle;
}

/* One life on both sides; times are added up. */
static int compare_life(const char *name, hp_u64 seed, hp_u64 events, double spent[2]) {
    const hp_u32 error = scenario_start();

    if (error != run_program(bpf.start_fd) || error != HP_OK) {
        printf("%s: seed %llu: a legal configuration is refused with error %u\n", name, seed,
               error);
        return EXIT_FAILURE;
    }
    while (life.events < events) {
        advance(spent);
        if (memcmp(&life, bpf.life, sizeof(life)) != 0)
            return explain(name, seed);
        if (broken_law()) {
            printf("%s: seed %llu: law %u is broken after event %llu\n", name, seed, broken_law(),
                   life.events);
            return EXIT_FAILURE;
        }
    }
    return EXIT_SUCCESS;
}

static int compare_policy(const struct hp_policy *policy, int global, hp_u64 events, hp_u64 seed) {
    double spent[2] = {0, 0};
    hp_u64 done = 0, picks = 0;
    char name[64];

    snprintf(name, sizeof(name), "%s+%s+%s%s", budgets[policy->budget], orders[policy->order],
             slacks[policy->slack], global ? "+global" : "");
    while (done < events) {
        configure(policy, global, seed);
        if (compare_life(name, seed, LIFE_EVENTS, spent))
            return EXIT_FAILURE;
        done += life.events;
        picks += life.picks;
        seed++;
    }
    printf("%-32s %llu events, %llu picks: identical; per event gcc %.0f ns, BPF %.0f ns\n", name,
           done, picks, spent[0] / (double)done * 1e9, spent[1] / (double)done * 1e9);
    return EXIT_SUCCESS;
}

static hp_u32 find(const char *word, const char *const *words, hp_u32 count) {
    for (hp_u32 i = 0; i < count; i++)
        if (word && strcmp(word, words[i]) == 0)
            return i;
    fprintf(stderr, "conformance: no such rule: %s\n", word ? word : "(missing)");
    exit(2);
}

/* Reads "budget+order+slack" or "budget+order+slack+global". */
static int parse_policy(char *text, struct hp_policy *policy) {
    char *rest = NULL;
    const char *scope;

    policy->budget = find(strtok_r(text, "+", &rest), budgets, COUNT(budgets));
    policy->order = find(strtok_r(NULL, "+", &rest), orders, COUNT(orders));
    policy->slack = find(strtok_r(NULL, "+", &rest), slacks, COUNT(slacks));
    scope = strtok_r(NULL, "+", &rest);
    return scope && strcmp(scope, "global") == 0;
}

int main(int count, char **arguments) {
    hp_u64 events, seed;

    if (count < 5) {
        fprintf(stderr, "usage: conformance OBJECT EVENTS SEED POLICY...\n");
        return 2;
    }
    events = strtoull(arguments[2], NULL, 10);
    seed = strtoull(arguments[3], NULL, 10);
    require_bpf();
    load(arguments[1]);
    printf("seed %llu\n", seed);
    for (int i = 4; i < count; i++) {
        struct hp_policy policy;
        int global = parse_policy(arguments[i], &policy);

        if (compare_policy(&policy, global, events, seed))
            return EXIT_FAILURE;
    }
    return EXIT_SUCCESS;
}
