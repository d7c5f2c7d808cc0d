// SPDX-License-Identifier: BSD-2-Clause
/*
 * What makes life hard for the scheduler on Linux, and what looks whether it bore it: tools that
 * the scripts of fault_scripts.py call on their machine, one at a time or beside each other.
 *
 *   faults spin                        never sleeps
 *   faults storm MS                    forks children that end at once; says how many
 *   faults affinity SEED MS ID...      threads may run here, then there; at the end everywhere
 *   faults memory                      takes memory, and uses it, until the kernel ends it
 *   faults requests FILE COUNT EVERY_US   sends the file's lines to hyperperiodd, in turns and at
 *                                      these instants; says how many were refused or late
 *   faults enter SERVER                enters a server by the socket for tasks, and never sleeps
 *   faults hold                        takes the lock of lock domain 0, and does not let go
 *   faults layout, faults build        what is pinned is said to be of another layout, or build
 *   faults objects                     how many BPF programs, maps and links there are
 *   faults programs                    each BPF program: its name, the instructions that the
 *                                      verifier looked at, and the bytes of machine code
 *   faults entries MAP                 how many entries a map of this name has
 */
#define _GNU_SOURCE
#include <errno.h>
#include <linux/bpf.h>
#include <sched.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "pass_time.h"

#define NS_PER_S 1000000000ull
#define CONTROL "/run/hyperperiod/control"
#define TASKS "/run/hyperperiod/tasks"
#define LINES 64
#define AT_ONCE 16

static uint64_t now_ns(void) {
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * NS_PER_S + (uint64_t)now.tv_nsec;
}

static void sleep_until(uint64_t at_ns) {
    const struct timespec at = {(time_t)(at_ns / NS_PER_S), (long)(at_ns % NS_PER_S)};

    clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &at, NULL);
}

static void fail(const char *what) {
    fprintf(stderr, "faults: %s: %s\n", what, strerror(errno));
    exit(1);
}

_Noreturn static void spin(void) {
    for (;;)
        pass_time(1);
}

static int storm(uint64_t until_ns) {
    unsigned int children = 0, alive = 0;

    while (now_ns() < until_ns) {
        const pid_t child = alive < AT_ONCE ? fork() : -1;
        if (child == 0)
            _exit(0);
        if (child > 0) {
            children++;
            alive++;
        } else if (wait(NULL) > 0) {
            alive--;
        }
    }
    while (wait(NULL) > 0)
        ;
    printf("%u\n", children);
    return 0;
}

static void allow(pid_t thread, unsigned long cpus) {
    if (syscall(SYS_sched_setaffinity, thread, sizeof(cpus), &cpus) != 0)
        fail("sched_setaffinity");
}

static int affinity(unsigned int seed, uint64_t until_ns, int count, char **ids) {
    const unsigned long all = (1ul << sysconf(_SC_NPROCESSORS_CONF)) - 1;

    srand(seed);
    while (now_ns() < until_ns) {
        allow(atoi(ids[rand() % count]), 1 + (unsigned long)rand() % all);
        usleep((useconds_t)(rand() % 2000));
    }
    for (int i = 0; i < count; i++)
        allow(atoi(ids[i]), all);
    return 0;
}

_Noreturn static void memory(void) {
    for (;;) {
        void *at = mmap(NULL, 1 << 20, PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
        if (at == MAP_FAILED)
            fail("mmap");
    }
}

static int connected_to(const char *path) {
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    const int client = socket(AF_UNIX, SOCK_SEQPACKET, 0);

    snprintf(address.sun_path, sizeof(address.sun_path), "%s", path);
    if (connect(client, (const void *)&address, sizeof(address)) != 0)
        fail(path);
    return client;
}

/* Who is killed while it asks has not entered, or its server forgets it. */
_Noreturn static void enter(const char *server) {
    const int client = connected_to(TASKS);
    char line[256], answer[4096];

    snprintf(line, sizeof(line), "enter %s thread=%ld", server, (long)syscall(SYS_gettid));
    if (send(client, line, strlen(line), 0) < 0)
        fail("send");
    const ssize_t got = recv(client, answer, sizeof(answer) - 1, 0);
    answer[got > 0 ? got : 0] = 0;
    if (strstr(answer, "\"ok\": true") == NULL) {
        fprintf(stderr, "faults: %s: %s\n", line, answer);
        exit(1);
    }
    spin();
}

static int requests(const char *path, uint64_t count, uint64_t every_ns) {
    static char line[LINES][256], answer[1 << 18];
    const int client = connected_to(CONTROL);
    unsigned int lines = 0, refused = 0;
    uint64_t late_ns = 0;
    FILE *file = fopen(path, "r");

    if (file == NULL)
        fail(path);
    for (; lines < LINES && fgets(line[lines], sizeof(line[0]), file) != NULL; lines++)
        line[lines][strcspn(line[lines], "\n")] = 0;
    const uint64_t begin_ns = now_ns();
    for (uint64_t i = 0; i < count; i++) {
        const char *one = line[i % lines];
        sleep_until(begin_ns + i * every_ns);
        if (send(client, one, strlen(one), 0) < 0)
            fail("send");
        const ssize_t got = recv(client, answer, sizeof(answer) - 1, 0);
        if (got <= 0)
            fail("recv");
        answer[got] = 0;
        if (strstr(answer, "\"ok\": true") == NULL && refused++ == 0)
            fprintf(stderr, "faults: %s: %s\n", one, answer);
        const uint64_t took_ns = now_ns() - (begin_ns + i * every_ns);
        if (took_ns > late_ns)
            late_ns = took_ns;
    }
    printf("{\"asked\": %llu, \"refused\": %u, \"late_ns\": %llu}\n", (unsigned long long)count,
           refused, (unsigned long long)late_ns);
    return refused > 0;
}

static long bpf(unsigned int command, union bpf_attr *attributes) {
    return syscall(SYS_bpf, command, attributes, sizeof(*attributes));
}

/* The next object's id, or 0. */
static uint32_t next_of(unsigned int command, uint32_t id) {
    union bpf_attr attributes = {.start_id = id};

    return bpf(command, &attributes) == 0 ? attributes.next_id : 0;
}

static unsigned int count_of(unsigned int command) {
    unsigned int count = 0;

    for (uint32_t id = next_of(command, 0); id != 0; id = next_of(command, id))
        count++;
    return count;
}

static int objects(void) {
    printf("%u %u %u\n", count_of(BPF_PROG_GET_NEXT_ID), count_of(BPF_MAP_GET_NEXT_ID),
           count_of(BPF_LINK_GET_NEXT_ID));
    return 0;
}

static void say_program(uint32_t id) {
    union bpf_attr open = {.prog_id = id}, ask = {0};
    struct bpf_prog_info info = {0};
    const int program = (int)bpf(BPF_PROG_GET_FD_BY_ID, &open);

    ask.info.bpf_fd = (uint32_t)program;
    ask.info.info_len = sizeof(info);
    ask.info.info = (uintptr_t)&info;
    if (program >= 0 && bpf(BPF_OBJ_GET_INFO_BY_FD, &ask) == 0)
        printf("%s %u %u\n", info.name, info.verified_insns, info.jited_prog_len);
    close(program);
}

static int programs(void) {
    for (uint32_t id = next_of(BPF_PROG_GET_NEXT_ID, 0); id != 0;
         id = next_of(BPF_PROG_GET_NEXT_ID, id))
        say_program(id);
    return 0;
}

/* A file for the map if it has this name, else -1. Its key is of at most 8 bytes. */
static int open_if_called(uint32_t id, const char *name) {
    union bpf_attr open = {.map_id = id}, ask = {0};
    struct bpf_map_info info = {0};
    const int map = (int)bpf(BPF_MAP_GET_FD_BY_ID, &open);

    ask.info.bpf_fd = (uint32_t)map;
    ask.info.info_len = sizeof(info);
    ask.info.info = (uintptr_t)&info;
    if (map >= 0 && bpf(BPF_OBJ_GET_INFO_BY_FD, &ask) == 0
        && strncmp(info.name, name, sizeof(info.name) - 1) == 0)
        return map;
    close(map);
    return -1;
}

/* A file for the map of this name. */
static int map_called(const char *name) {
    for (uint32_t id = next_of(BPF_MAP_GET_NEXT_ID, 0); id != 0;
         id = next_of(BPF_MAP_GET_NEXT_ID, id)) {
        const int map = open_if_called(id, name);
        if (map >= 0)
            return map;
    }
    fprintf(stderr, "faults: there is no map %s\n", name);
    exit(1);
}

/* Writes a word of a map's first entry; what is written back beside it is what was there. */
static int write_word(int map, unsigned int at, uint32_t word) {
    static unsigned char entry[1 << 20];
    union bpf_attr ask = {0};
    const uint32_t first = 0;

    ask.map_fd = (uint32_t)map;
    ask.key = (uintptr_t)&first;
    ask.value = (uintptr_t)entry;
    if (bpf(BPF_MAP_LOOKUP_ELEM, &ask) != 0)
        fail("an entry");
    memcpy(entry + at * sizeof(word), &word, sizeof(word));
    if (bpf(BPF_MAP_UPDATE_ELEM, &ask) != 0)
        fail("a word");
    return 0;
}

/* A file for the state that is pinned, of which these are the first words. */
enum { LAYOUT, BUILD };
static int pinned_state(void) {
    union bpf_attr open = {.pathname = (uintptr_t)"/sys/fs/bpf/hyperperiod/map-_data_state"};

    return (int)bpf(BPF_OBJ_GET, &open);
}

static unsigned int entries_in(int map) {
    uint64_t key = 0, next = 0;
    union bpf_attr ask = {0};
    unsigned int count = 0;

    ask.map_fd = (uint32_t)map;
    ask.next_key = (uintptr_t)&next;
    while (bpf(BPF_MAP_GET_NEXT_KEY, &ask) == 0) {
        key = next;
        ask.key = (uintptr_t)&key;
        count++;
    }
    return count;
}

static int entries(const char *name) {
    printf("%u\n", entries_in(map_called(name)));
    return 0;
}

static uint64_t number(const char *word) {
    return strtoull(word, NULL, 10);
}

int main(int count, char **words) {
    const char *what = count > 1 ? words[1] : "";

    if (strcmp(what, "spin") == 0)
        spin();
    if (strcmp(what, "storm") == 0 && count == 3)
        return storm(now_ns() + number(words[2]) * 1000000);
    if (strcmp(what, "affinity") == 0 && count > 4)
        return affinity((unsigned int)number(words[2]), now_ns() + number(words[3]) * 1000000,
                        count - 4, words + 4);
    if (strcmp(what, "memory") == 0)
        memory();
    if (strcmp(what, "requests") == 0 && count == 5)
        return requests(words[2], number(words[3]), number(words[4]) * 1000);
    if (strcmp(what, "enter") == 0 && count == 3)
        enter(words[2]);
    if (strcmp(what, "hold") == 0)
        return write_word(map_called("lock_domains"), 0, 1);
    if (strcmp(what, "layout") == 0)
        return write_word(pinned_state(), LAYOUT, UINT32_MAX);
    if (strcmp(what, "build") == 0)
        return write_word(pinned_state(), BUILD, 0);
    if (strcmp(what, "objects") == 0)
        return objects();
    if (strcmp(what, "programs") == 0)
        return programs();
    if (strcmp(what, "entries") == 0 && count == 3)
        return entries(words[2]);
    fprintf(stderr, "faults: found '%s', allowed: what faults.c says\n", what);
    return 2;
}
