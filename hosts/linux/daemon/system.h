/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The system as it was asked for: policy, cpus, servers and who belongs to them. It is what is
 * given to the kernel at the start, and what goes on being true while the kernel has it.
 *
 * Whether rules go together and parameters can be had is asked of the core itself: each lock domain
 * has a core here that is told of the same servers and decides nothing.
 */
#ifndef HPD_SYSTEM_H
#define HPD_SYSTEM_H

#include "core/hyperperiod.h"

#include "request.h"

#define NS_PER_S 1000000000ull
#define SERVER_LIMIT 256u
#define MEMBER_LIMIT 1024u
#define USER_LIMIT 256u /* threads that one user has enter, so that others have room too */
#define PATH_BYTES 512u

/* Under which the threads of other users may enter a server by themselves. */
#define USERS_NONE (-1ll)
#define USERS_ALL (-2ll)

struct server {
    bool present;
    char name[NAME_BYTES];
    uint32_t cpu;    /* its cpu, or HOME_GLOBAL */
    uint32_t lock;   /* its lock domain */
    uint32_t number; /* its number there */
    uint64_t cpus;   /* of those of a global policy the ones that it may run on; 0: all */
    uint32_t inside; /* in which order its threads run (request.h) */
    long long users; /* the group that may enter it, or USERS_... */
    struct hp_params params;
};

enum member_kind { BY_CGROUP, BY_PROCESS, BY_THREAD };

/* Threads that belong to a server: those of a cgroup, of a process, or one; or a pattern of paths,
 * which brings cgroups (patterns.h). */
struct member {
    enum member_kind kind;
    uint32_t server;
    uint32_t pattern;      /* the pattern's number, the first one's the lowest; 0: it is none */
    uint32_t brought;      /* the number of the pattern that has brought it, or 0 */
    uint32_t left_out;     /* of a pattern: cgroups that match, and could not be members */
    uint64_t id;           /* of the process, thread or cgroup; 0: that is not there */
    uint64_t born;         /* when the process or thread began, in ticks: another may get its id */
    long long user;        /* who had it enter by the socket for tasks, or USERS_NONE */
    uint64_t key;          /* its place among the threads of its server, the lowest first */
    char path[PATH_BYTES]; /* of the cgroup, by which it is found again */
};

struct system {
    bool has_policy;
    bool running;   /* the kernel has it */
    bool recording; /* from the start on, or now */
    bool forced;    /* somebody had it take what others should be left (force=1) */
    bool global;
    uint64_t cpus;     /* the cpus that are managed */
    uint32_t refused;  /* values of cpu.max that no server could have */
    uint32_t patterns; /* the number of the last one */
    /* What force.c keeps. */
    uint32_t ends;       /* so often the kernel has ended it */
    char ended[512];     /* why the last time */
    uint32_t tries;      /* of them one after the other */
    uint64_t since_ns;   /* since when the kernel has it */
    uint64_t renewed_ns; /* when it was looked who belongs to it */
    uint64_t again_ns;   /* when it is put in force again, or 0 */
    struct hp_config config;
    struct server server[SERVER_LIMIT];
    uint32_t member_count;
    struct member member[MEMBER_LIMIT];
    struct hp_core core[CPU_LIMIT]; /* of each lock domain, to ask what can be had */
};

/* How many lock domains there are: one, or one for each cpu. */
uint32_t lock_domains(const struct system *system);

/* The cpu at this place among those that are managed, the lowest first. */
uint32_t cpu_at(const struct system *system, uint32_t place);

/* The number of the server with this name, or SERVER_LIMIT. */
uint32_t find_server(const struct system *system, const char *name);

/* Why the core refuses; the text that follows "found ..., allowed ...". */
const char *refusal(enum hp_error error);

/*
 * Each of these changes the system, or leaves it as it was and says why not. They know nothing of
 * the kernel: who calls them tells it.
 */
bool set_policy(struct system *system, const struct request *request, struct text *problem);
bool read_policy(const struct system *system, const char *words, struct hp_policy *policy,
                 struct text *problem);
bool swap_policy(struct system *system, const struct hp_policy *policy, struct text *problem);
bool add_server(struct system *system, const struct request *request, uint32_t *number,
                struct text *problem);
bool change_server(struct system *system, uint32_t number, const struct hp_params *params,
                   struct text *problem);
void remove_server(struct system *system, uint32_t number);
bool bind_server(const struct system *system, struct server *server, const struct request *request,
                 struct text *problem);

/* The parameters that a server would have if the request were granted. */
struct hp_params asked_params(const struct hp_params *now, const struct request *request);

void clear_system(struct system *system);

#endif
