// SPDX-License-Identifier: BSD-2-Clause
//
// What Linux's schedulers cost, and what they let a neighbour do, on a machine that counts: an
// instruction takes a nanosecond there, so times are numbers of instructions.
//
//   price pong PLACE PLACE        ns of a round trip by pipes between two processes
//   price cyclic PLACE PLACE      six times (ns) of a cyclic task beside a process that never
//                                 sleeps: least, median and longest delay from its release until it
//                                 runs, and the same of its response
//   price alone PLACE             the same with nobody beside
//   price picks OBJECT (POLICY LOAD N)...
//                                 ns of a decision of the BPF programs with N servers, in the mean
//                                 and the longest
//   price verifier OBJECT         a line for each program: its name, the instructions that the
//                                 verifier looked at, and the bytes of machine code
//   price attach OBJECT           keeps a sched_ext scheduler in force until it is killed
//
// A PLACE is where a process is put: `none`, `server:NAME` of hyperperiodd, `cgroup:PATH`, or
// `deadline:RUNTIME:PERIOD` (ns) of SCHED_DEADLINE. POLICY is ds or cbs. LOAD says of what kind
// the servers are: `equal` or `mixed`. OBJECT is linux_pick.bpf.o, hyperperiod.bpf.o, or one with a
// `scheduler`. What is wrong ends it with code 1.
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "bench/linux_pick.h"
#include "core/hyperperiod.h"
#include "tests/linux/pass_time.h"

#define NS_PER_S 1000000000ull
#define DEADLINE_CLASS 6 /* SCHED_DEADLINE */

/* Round trips are timed in batches, with sleep between: who preempts whom depends on what threads
 * have had so far, and stays the same for long. */
#define BATCHES 40
#define BATCH_ROUNDS 50
#define BETWEEN_NS 3700000ull

/* The cyclic task. Its period is prime to the usual 10 ms of a neighbour's budget, so that it is
 * released at every phase of it. */
#define JOBS 100
#define PERIOD_NS 11000000ull
#define WORK_ROUNDS 5000 /* of 400 instructions: 2 ms */

#define PICKS 1000

static _Noreturn void give_up(const char *what) {
    printf("%s: %s\n", what, strerror(errno));
    exit(1);
}

static uint64_t now_ns(void) {
    struct timespec time;

    clock_gettime(CLOCK_MONOTONIC, &time);
    return (uint64_t)time.tv_sec * NS_PER_S + (uint64_t)time.tv_nsec;
}

/* --- places --------------------------------------------------------------------------------- */

static void enter_server(const char *name) {
    const struct sockaddr_un address = {.sun_family = AF_UNIX,
                                        .sun_path = "/run/hyperperiod/control"};
    const int control = socket(AF_UNIX, SOCK_SEQPACKET, 0);
    char request[128], answer[4096] = "";

    snprintf(request, sizeof request, "attach %s pid=%d", name, getpid());
    if (control < 0 || connect(control, (const struct sockaddr *)&address, sizeof address) != 0
        || send(control, request, strlen(request), 0) < 0
        || recv(control, answer, sizeof answer - 1, 0) < 0)
        give_up(request);
    if (strncmp(answer, "{\"ok\": true", 11) != 0)
        give_up(answer);
    close(control);
}

static void enter_cgroup(const char *path) {
    char file[256];
    int procs;

    snprintf(file, sizeof file, "%s/cgroup.procs", path);
    procs = open(file, O_WRONLY);
    if (procs < 0 || dprintf(procs, "%d\n", getpid()) < 0)
        give_up(file);
    close(procs);
}

static void enter_deadline(const char *numbers) {
    struct {
        uint32_t size, policy;
        uint64_t flags;
        int32_t nice;
        uint32_t priority;
        uint64_t runtime, deadline, period;
    } to = {.size = sizeof to, .policy = DEADLINE_CLASS};
    char *rest;

    to.runtime = strtoull(numbers, &rest, 10);
    to.period = *rest ? strtoull(rest + 1, NULL, 10) : 0;
    to.deadline = to.period;
    if (syscall(SYS_sched_setattr, 0, &to, 0) != 0)
        give_up("sched_setattr");
}

static void enter(const char *place) {
    const char *rest = strchr(place, ':');

    if (strncmp(place, "server:", 7) == 0)
        enter_server(rest + 1);
    else if (strncmp(place, "cgroup:", 7) == 0)
        enter_cgroup(rest + 1);
    else if (strncmp(place, "deadline:", 9) == 0)
        enter_deadline(rest + 1);
    else if (strcmp(place, "none") != 0)
        give_up(place);
}

/* --- a round trip --------------------------------------------------------------------------- */

static void get(int from) {
    char byte;

    if (read(from, &byte, 1) != 1)
        give_up("read");
}

static void put(int to) {
    if (write(to, "", 1) != 1)
        give_up("write");
}

static void sleep_until(uint64_t ns) {
    const struct timespec then = {(time_t)(ns / NS_PER_S), (long)(ns % NS_PER_S)};

    clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &then, NULL);
}

/* The first round of a batch is not timed. */
static void time_rounds(int from, int to) {
    uint64_t took_ns = 0;

    for (int batch = 0; batch < BATCHES; batch++) {
        uint64_t since_ns = 0;

        for (int round = 0; round <= BATCH_ROUNDS; round++) {
            put(to);
            get(from);
            if (round == 0)
                since_ns = now_ns();
        }
        took_ns += now_ns() - since_ns;
        sleep_until(now_ns() + BETWEEN_NS);
    }
    printf("%llu\n", (unsigned long long)(took_ns / (BATCHES * BATCH_ROUNDS)));
}

static int pong(char **places) {
    int there[2], back[2];
    pid_t answering;

    if (pipe(there) != 0 || pipe(back) != 0)
        give_up("pipe");
    answering = fork();
    if (answering == 0) {
        enter(places[1]);
        for (int round = 0; round < BATCHES * (BATCH_ROUNDS + 1); round++) {
            get(there[0]);
            put(back[1]);
        }
        exit(0);
    }
    enter(places[0]);
    time_rounds(back[0], there[1]);
    return waitpid(answering, NULL, 0) == answering ? 0 : 1;
}

/* --- a cyclic task -------------------------------------------------------------------------- */

static int by_value(const void *first, const void *second) {
    const uint64_t a = *(const uint64_t *)first, b = *(const uint64_t *)second;

    return (a > b) - (a < b);
}

static void print_spread(uint64_t *values) {
    qsort(values, JOBS, sizeof *values, by_value);
    printf("%llu %llu %llu ", (unsigned long long)values[0], (unsigned long long)values[JOBS / 2],
           (unsigned long long)values[JOBS - 1]);
}

/* Never sleeps; says once that it is where it should be. */
static _Noreturn void hog(const char *place, int there) {
    enter(place);
    put(there);
    for (;;)
        pass_time(WORK_ROUNDS);
}

static int cyclic(const char *place, const char *neighbour) {
    static uint64_t delays[JOBS], responses[JOBS];
    int there[2];
    pid_t greedy = 0;

    if (pipe(there) != 0)
        give_up("pipe");
    if (neighbour) {
        greedy = fork();
        if (greedy == 0)
            hog(neighbour, there[1]);
        get(there[0]);
    }
    /* Ordinary threads wake up to 50 us late otherwise, to save power. */
    prctl(PR_SET_TIMERSLACK, 1);
    mlockall(MCL_CURRENT);
    enter(place);
    uint64_t release = now_ns() + PERIOD_NS;
    for (int job = 0; job < JOBS; job++, release += PERIOD_NS) {
        sleep_until(release);
        delays[job] = now_ns() - release;
        pass_time(WORK_ROUNDS);
        responses[job] = now_ns() - release;
    }
    if (greedy) {
        kill(greedy, SIGKILL);
        waitpid(greedy, NULL, 0);
    }
    print_spread(delays);
    print_spread(responses);
    printf("\n");
    return 0;
}

/* --- the BPF programs by themselves --------------------------------------------------------- */

static struct bpf_object *object;

static void open_object(const char *path) {
    object = bpf_object__open_file(path, NULL);
    if (object == NULL)
        give_up(path);
}

static void request(const char *name, void *context, size_t bytes) {
    struct bpf_program *program = bpf_object__find_program_by_name(object, name);
    LIBBPF_OPTS(bpf_test_run_opts, options, .ctx_in = context, .ctx_size_in = (uint32_t)bytes);

    errno = 0;
    if (program == NULL || bpf_prog_test_run_opts(bpf_program__fd(program), &options) != 0
        || options.retval != 0)
        give_up(name);
}

static void load_for_one_cpu(void) {
    bpf_map__set_max_entries(bpf_object__find_map_by_name(object, "lock_domains"), 1);
    bpf_map__set_max_entries(bpf_object__find_map_by_name(object, "rings"), 1);
    if (bpf_object__load(object) != 0)
        give_up("load");
}

static void load_picks(void) {
    static const char *const wanted[] = {"lx_start", "lx_set", "bench_begin", "bench_work",
                                         "bench_picks"};
    struct bpf_program *each;

    bpf_object__for_each_program(each, object) {
        bool is_wanted = false;
        for (size_t i = 0; i < sizeof wanted / sizeof *wanted; i++)
            is_wanted |= strcmp(bpf_program__name(each), wanted[i]) == 0;
        bpf_program__set_autoload(each, is_wanted);
    }
    load_for_one_cpu();
}

/* A server of a load: of the same period as all, half of the time together; or, as in bench/pick.c,
 * of one of eight periods, nine tenths of the time together. */
static struct lx_set server_of(bool is_mixed, uint32_t number, uint32_t servers) {
    struct lx_set set = {.server = number, .inside = LX_FIFO, .priority = number % 8u};

    if (is_mixed) {
        set.period_ns = 1000000ull * (1u + number % 8u);
        set.budget_ns = set.period_ns * 9u / (servers * 10u);
    } else {
        set.period_ns = 10000000ull;
        set.budget_ns = set.period_ns / (servers * 2u);
    }
    return set;
}

/* A pcpu that picks whenever its grant is over; all servers have work. */
static void count_picks(const char *policy, const char *load, uint32_t servers) {
    const bool is_edf = strcmp(policy, "cbs") == 0;
    struct lx_start start = {
        .policy.budget = is_edf ? HP_BUDGET_CBS : HP_BUDGET_DEFERRABLE,
        .policy.order = is_edf ? HP_ORDER_EDF : HP_ORDER_FP,
        .policy.slack = HP_SLACK_NONE,
    };
    struct bench_picks picks = {.servers = servers, .picks = PICKS};

    request("bench_begin", &picks, sizeof picks);
    request("lx_start", &start, sizeof start);
    for (uint32_t number = 0; number < servers; number++) {
        struct lx_set set = server_of(strcmp(load, "mixed") == 0, number, servers);
        request("lx_set", &set, sizeof set);
    }
    request("bench_work", &picks, sizeof picks);
    request("bench_picks", &picks, sizeof picks);
    printf("%s %s %u %llu %llu\n", policy, load, servers,
           (unsigned long long)(picks.total_ns / PICKS - picks.clock_ns),
           (unsigned long long)(picks.longest_ns - picks.clock_ns));
}

static int picks(char **words) {
    open_object(words[0]);
    load_picks();
    for (int i = 1; words[i]; i += 3)
        count_picks(words[i], words[i + 1], (uint32_t)atoi(words[i + 2]));
    return 0;
}

static int verifier(const char *path) {
    struct bpf_program *each;

    open_object(path);
    load_for_one_cpu();
    bpf_object__for_each_program(each, object) {
        struct bpf_prog_info info = {0};
        uint32_t bytes = sizeof info;

        if (!bpf_program__autoload(each))
            continue;
        if (bpf_obj_get_info_by_fd(bpf_program__fd(each), &info, &bytes) != 0)
            give_up(bpf_program__name(each));
        printf("%s %u %u\n", bpf_program__name(each), info.verified_insns, info.jited_prog_len);
    }
    return 0;
}

static int attach(const char *path) {
    open_object(path);
    if (bpf_object__load(object) != 0
        || bpf_map__attach_struct_ops(bpf_object__find_map_by_name(object, "scheduler")) == NULL)
        give_up(path);
    pause();
    return 0;
}

int main(int count, char **words) {
    if (count == 4 && strcmp(words[1], "pong") == 0)
        return pong(words + 2);
    if (count == 4 && strcmp(words[1], "cyclic") == 0)
        return cyclic(words[2], words[3]);
    if (count == 3 && strcmp(words[1], "alone") == 0)
        return cyclic(words[2], NULL);
    if (count >= 6 && count % 3 == 0 && strcmp(words[1], "picks") == 0)
        return picks(words + 2);
    if (count == 3 && strcmp(words[1], "verifier") == 0)
        return verifier(words[2]);
    if (count == 3 && strcmp(words[1], "attach") == 0)
        return attach(words[2]);
    errno = EINVAL;
    give_up("usage: price pong|cyclic PLACE PLACE, alone PLACE, picks OBJECT (POLICY LOAD N)..., "
            "verifier|attach OBJECT");
}
