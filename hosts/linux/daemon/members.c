// SPDX-License-Identifier: BSD-2-Clause
#include "members.h"

#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "kernel.h"

#define CGROUPS "/sys/fs/cgroup"
#define GROUPS_MAX_ASKED 1024

static bool is_same(const struct member *one, const struct member *other) {
    return one->kind == other->kind
           && (one->kind == BY_CGROUP ? strcmp(one->path, other->path) == 0 : one->id == other->id);
}

uint32_t place_of(const struct system *system, const struct member *member) {
    uint32_t place = 0;

    while (place < system->member_count && !is_same(&system->member[place], member))
        place++;
    return place;
}

bool is_pattern(const char *path) {
    return strpbrk(path, "*?[(") != NULL;
}

/* Leaves one slash where there are several, and none at the end. */
static void tidy(char *path) {
    char *to = path;

    for (const char *from = path; *from != 0; from++)
        if (*from != '/' || (from[1] != '/' && from[1] != 0))
            *to++ = *from;
    *to = 0;
}

/* Whether a pattern repeats one thing at most in a component, by +(...) or *(...): to find that
 * nothing matches +(a|aa) or +(a)+(a)+(a) could take hours. */
static bool repeats_little(const char *path) {
    bool repeats = false;

    for (; *path != 0; path++) {
        if (*path == '/')
            repeats = false;
        if ((*path != '+' && *path != '*') || path[1] != '(')
            continue;
        const char *inside = path + 2;
        const char stop = inside[strcspn(inside, "*?|()")];
        if (repeats || (stop != ')' && stop != 0))
            return false;
        repeats = true;
    }
    return true;
}

static bool find_cgroup(const struct request *request, struct member *member,
                        struct text *problem) {
    const char *word = request->word[KEY_CGROUP];
    const bool whole = strncmp(word, CGROUPS "/", sizeof(CGROUPS)) == 0;

    const int length = snprintf(member->path, sizeof(member->path), "%s%s%s", whole ? "" : CGROUPS,
                                whole || *word == '/' ? "" : "/", word);
    if (length >= 0 && (size_t)length < sizeof(member->path))
        tidy(member->path);
    if (length < 0 || (size_t)length >= sizeof(member->path) || strstr(word, "..") != NULL
        || strstr(member->path, "/./") != NULL) {
        add(problem,
            "cgroup: found a path that is too long or has '.' or '..' in it, allowed: less than %u "
            "bytes without these",
            PATH_BYTES);
        return false;
    }
    member->kind = BY_CGROUP;
    if (!repeats_little(member->path)) {
        add(problem, "cgroup: found a pattern that repeats too much, allowed: one +(...) or *(...) "
                     "between two slashes, with none of *?|( in it");
        return false;
    }
    if (is_pattern(member->path))
        return true;
    member->id = kernel_cgroup(member->path);
    if (member->id != 0 || request->number[KEY_WAIT] || request->verb == VERB_DETACH)
        return true;
    add(problem,
        "cgroup: found no cgroup (version 2) '%s', allowed: a folder of " CGROUPS
        ", a pattern, or wait=1 until there is one",
        member->path);
    return false;
}

/* When a process or thread began: the 20th word behind its name, which may be anything. 0: there is
 * none with this id. */
static uint64_t birth_of(uint64_t id) {
    char bytes[1024], path[64];
    unsigned long long born;
    const char *behind;

    snprintf(path, sizeof(path), "/proc/%llu/stat", (unsigned long long)id);
    FILE *file = fopen(path, "re");
    if (file == NULL)
        return 0;
    bytes[fread(bytes, 1, sizeof(bytes) - 1, file)] = 0;
    fclose(file);
    behind = strrchr(bytes, ')');
    if (behind == NULL
        || sscanf(behind + 1,
                  " %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s "
                  "%llu",
                  &born)
               != 1)
        return 0;
    return born + 1; /* what began with the machine began at 0 */
}

bool has_ended(const struct member *member) {
    return member->kind != BY_CGROUP && birth_of(member->id) != member->born;
}

static bool find_task(const struct request *request, struct member *member, struct text *problem) {
    const bool thread = request->given[KEY_THREAD];
    const uint64_t id = request->number[thread ? KEY_THREAD : KEY_PID];

    member->born = birth_of(id);
    if (member->born == 0) {
        add(problem, "%s: found no %llu, allowed: one that is there", thread ? "thread" : "pid",
            (unsigned long long)id);
        return false;
    }
    if (request->given[KEY_BORN] && member->born != request->number[KEY_BORN] + 1) {
        add(problem,
            "born: found another one with the number %llu, which began at %llu, allowed: "
            "the one that is meant",
            (unsigned long long)id, (unsigned long long)member->born - 1);
        return false;
    }
    member->kind = thread ? BY_THREAD : BY_PROCESS;
    member->id = id;
    return true;
}

bool find_member(const struct request *request, struct member *member, struct text *problem) {
    const unsigned int ways =
        request->given[KEY_CGROUP] + request->given[KEY_PID] + request->given[KEY_THREAD];

    memset(member, 0, sizeof(*member));
    member->user = request->given[KEY_USER] ? (long long)request->number[KEY_USER] : USERS_NONE;
    member->key = request->given[KEY_KEY] ? request->number[KEY_KEY] : LX_OWN;
    if (ways != 1) {
        add(problem, "member: found %u, allowed: one of cgroup=, pid= and thread=", ways);
        return false;
    }
    if (request->given[KEY_CGROUP] && request->given[KEY_KEY]) {
        add(problem, "key: found some, allowed: pid= or thread=: threads of a cgroup differ");
        return false;
    }
    if (request->given[KEY_CGROUP] && (request->given[KEY_BORN] || request->given[KEY_USER])) {
        add(problem, "born, user: found some, allowed: pid= or thread=");
        return false;
    }
    if (request->given[KEY_WAIT] && !request->given[KEY_CGROUP]) {
        add(problem, "wait: found some, allowed: cgroup=");
        return false;
    }
    if (request->given[KEY_CGROUP])
        return find_cgroup(request, member, problem);
    return find_task(request, member, problem);
}

bool is_thread_of(uint64_t thread, pid_t process) {
    char path[64];

    snprintf(path, sizeof(path), "/proc/%d/task/%llu", process, (unsigned long long)thread);
    return access(path, F_OK) == 0;
}

bool has_left(const struct peer *peer) {
    struct pollfd process = {.fd = peer->alive, .events = POLLIN};

    return poll(&process, 1, 0) != 0;
}

bool may_enter(const struct peer *peer, long long users) {
    gid_t groups[GROUPS_MAX_ASKED];
    socklen_t bytes = sizeof(groups);
    struct ucred one;
    socklen_t one_bytes = sizeof(one);

    if (peer->trusted || peer->user == 0 || users == USERS_ALL)
        return true;
    if (users == USERS_NONE)
        return false;
    if (getsockopt(peer->socket, SOL_SOCKET, SO_PEERCRED, &one, &one_bytes) == 0
        && (long long)one.gid == users)
        return true;
    if (getsockopt(peer->socket, SOL_SOCKET, SO_PEERGROUPS, groups, &bytes) != 0)
        return false;
    for (size_t i = 0; i < bytes / sizeof(groups[0]); i++)
        if ((long long)groups[i] == users)
            return true;
    return false;
}
