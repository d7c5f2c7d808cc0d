// SPDX-License-Identifier: BSD-2-Clause
#include "perform.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "force.h"
#include "kernel.h"
#include "log.h"
#include "patterns.h"
#include "room.h"
#include "save.h"

#define WARNING_BYTES 1024u
#define WISHES_AT_ONCE 16u /* others have their turn between */
#define PRIORITIES 32768u  /* of threads in a server (shared.h: lx_thread.key) */

/* What is collected while a request is performed. */
struct doing {
    struct system *system;
    const struct request *request;
    const struct peer *peer;
    struct text problem;  /* why it is refused */
    struct text warnings; /* in quotes, with commas between */
};

static bool refuse(struct doing *doing, const char *why) {
    add(&doing->problem, "%s", why);
    return false;
}

/* Whether the kernel did as it was told; NULL is what it says then. */
static bool agrees(struct doing *doing, const char *why) {
    return why == NULL || refuse(doing, why);
}

static void warn(struct doing *doing, const char *format, const char *name) {
    char bytes[WARNING_BYTES / 2];
    struct text text = text_in(bytes, sizeof(bytes));

    add(&text, format, name);
    if (doing->warnings.length > 0)
        add(&doing->warnings, ", ");
    add_quoted(&doing->warnings, bytes);
}

/* --- what servers leave ---------------------------------------------------------------------- */

/* Whether the servers of a lock domain leave something to what is outside of them. Who insists is
 * warned instead. */
static bool leaves_time(struct doing *doing, uint32_t lock) {
    static const char found[] =
        "budgets: found servers that may keep cpus busy for 30 s or longer, or have more than "
        "19/20 of them, allowed: some time for threads outside of servers, or the kernel ends the "
        "scheduler";

    if (longest_busy_ns(doing->system, lock) < WATCHDOG_NS
        && leave_a_twentieth(doing->system, lock))
        return true;
    if (!doing->request->number[KEY_FORCE]) {
        add(&doing->problem, "%s (force=1 insists)", found);
        return false;
    }
    warn(doing, "%s", found);
    doing->system->forced = true;
    return true;
}

static bool all_leave_time(struct doing *doing) {
    for (uint32_t lock = 0; lock < lock_domains(doing->system); lock++)
        if (!leaves_time(doing, lock))
            return false;
    return true;
}

/* --- verbs ----------------------------------------------------------------------------------- */

/* The server that the request names. */
static bool named(struct doing *doing, uint32_t *number) {
    *number = find_server(doing->system, doing->request->name);
    if (*number != SERVER_LIMIT)
        return true;
    add(&doing->problem, "server: found no '%s', allowed: one that was made by server",
        doing->request->name);
    return false;
}

static bool do_policy(struct doing *doing) {
    const uint64_t absent = doing->request->number[KEY_PCPUS] & ~kernel_cpus();

    if (absent != 0) {
        add(&doing->problem, "pcpus: found %d, allowed: cpus that this machine can have",
            __builtin_ctzll(absent));
        return false;
    }
    for (uint32_t i = 0; i < SERVER_LIMIT; i++)
        if (doing->system->server[i].present)
            return refuse(doing, "policy: found servers already, allowed: before the first one, or "
                                 "after clear");
    if (doing->system->running)
        return refuse(doing, "policy: found a system in force, allowed: swap, or stop before");
    return set_policy(doing->system, doing->request, &doing->problem);
}

static bool do_server(struct doing *doing) {
    struct system *system = doing->system;
    uint32_t number;

    if (!system->has_policy)
        return refuse(doing, "server: found no policy, allowed: after policy");
    if (!add_server(system, doing->request, &number, &doing->problem))
        return false;
    const struct server *server = &system->server[number];
    if (leaves_time(doing, server->lock)
        && (!system->running || agrees(doing, kernel_add(system, number))))
        return true;
    remove_server(system, number);
    return false;
}

static bool do_set(struct doing *doing) {
    struct system *system = doing->system;
    uint32_t number;

    if (!named(doing, &number))
        return false;
    struct server *server = &system->server[number];
    const struct server before = *server;
    const struct hp_params params = asked_params(&before.params, doing->request);
    if (!bind_server(system, server, doing->request, &doing->problem))
        return false;
    if (change_server(system, number, &params, &doing->problem) && leaves_time(doing, server->lock)
        && (!system->running || agrees(doing, kernel_change(system, number))))
        return true;
    server->cpus = before.cpus;
    change_server(system, number, &before.params, &doing->problem);
    return false;
}

static bool do_remove(struct doing *doing) {
    struct system *system = doing->system;
    uint32_t number;

    if (!named(doing, &number))
        return false;
    for (uint32_t i = 0; i < system->member_count && system->running; i++)
        if (system->member[i].server == number)
            kernel_detach(system, &system->member[i]);
    if (system->running && !agrees(doing, kernel_remove(system, number)))
        return false;
    remove_server(system, number);
    renew_patterns(system);
    return true;
}

/* Whether the key is one that the order inside the server knows. */
static bool has_key(struct doing *doing, const struct member *member) {
    const bool by_priority = doing->system->server[member->server].inside == LX_FP;

    if (!by_priority || member->key == LX_OWN || member->key < PRIORITIES)
        return true;
    add(&doing->problem, "key: found %llu, allowed under inside=fp: 0 to %u",
        (unsigned long long)member->key, PRIORITIES - 1);
    return false;
}

/* Makes it a member of its server, or changes its key or server if it is one. */
static bool put_member(struct doing *doing, const struct member *member) {
    struct system *system = doing->system;
    uint32_t place;

    /* Folders of cgroups are not listed for whoever asks. */
    if (system->member_count == MEMBER_LIMIT && doing->peer->trusted)
        renew_members(system);
    else if (system->member_count == MEMBER_LIMIT)
        forget_ended(system);
    place = place_of(system, member);
    if (!has_key(doing, member))
        return false;
    if (place == MEMBER_LIMIT)
        return refuse(doing, "member: found 1024 already, allowed: so many");
    /* A cgroup that was made anew since: the kernel forgets the one before. */
    if (system->running && place < system->member_count && system->member[place].id != member->id)
        kernel_detach(system, &system->member[place]);
    if (system->running && !agrees(doing, kernel_attach(system, member)))
        return false;
    system->member[place] = *member;
    system->member_count += place == system->member_count;
    return true;
}

static bool drop_member(struct doing *doing, const struct member *member) {
    struct system *system = doing->system;
    const uint32_t place = place_of(system, member);

    if (place == system->member_count || system->member[place].server != member->server)
        return refuse(doing, "member: found none of this server, allowed: one that was attached");
    if (system->member[place].brought != 0)
        return refuse(doing, "member: found one that a pattern brings, allowed: the pattern, or an "
                             "attach of its own that goes before");
    if (system->running && !agrees(doing, kernel_detach(system, &system->member[place])))
        return false;
    const uint32_t pattern = system->member[place].pattern;
    system->member[place] = system->member[--system->member_count];
    if (pattern != 0)
        drop_brought(system, pattern);
    if (member->kind == BY_CGROUP)
        renew_patterns(system);
    return true;
}

/* A pattern becomes a member with all that it matches now, or nothing changes. */
static bool put_pattern(struct doing *doing, struct member *pattern) {
    struct system *system = doing->system;

    renew_members(system);
    uint32_t place = place_of(system, pattern);
    const bool is_new = place == system->member_count;
    const uint32_t server = is_new ? 0 : system->member[place].server;

    pattern->pattern = is_new ? system->patterns + 1 : system->member[place].pattern;
    if (!put_member(doing, pattern))
        return false;
    place = place_of(system, pattern);
    if (agrees(doing, bring(system, place))) {
        system->patterns += is_new;
        return true;
    }
    if (is_new) {
        system->member[place] = system->member[--system->member_count];
        drop_brought(system, pattern->pattern);
        renew_patterns(system);
    } else {
        system->member[place].server = server;
        bring(system, place);
    }
    return false;
}

static bool do_attach(struct doing *doing) {
    struct member member;

    if (!find_member(doing->request, &member, &doing->problem) || !named(doing, &member.server))
        return false;
    return is_pattern(member.path) ? put_pattern(doing, &member) : put_member(doing, &member);
}

static bool do_detach(struct doing *doing) {
    struct member member;

    if (!find_member(doing->request, &member, &doing->problem) || !named(doing, &member.server))
        return false;
    return drop_member(doing, &member);
}

/* A thread of the one who asks; others are no business of theirs, nor is one that was attached to a
 * server by whoever controls the system. */
static bool own_thread(struct doing *doing, struct member *member) {
    const struct system *system = doing->system;

    if (!find_member(doing->request, member, &doing->problem))
        return false;
    if (!is_thread_of(member->id, doing->peer->process) || has_left(doing->peer))
        return refuse(doing, "thread: found one of another process, allowed: one's own");
    const uint32_t place = place_of(system, member);
    return doing->peer->trusted || place == system->member_count
           || system->member[place].user != USERS_NONE
           || refuse(doing, "thread: found one that was attached, allowed: one that has entered by "
                            "itself, or none of any server");
}

/* What the server goes by, of what the task says of itself. */
static uint64_t own_key(const struct request *request, uint32_t inside) {
    if (inside == LX_FP && request->given[KEY_PRIORITY])
        return request->number[KEY_PRIORITY];
    if (inside == LX_EDF && request->given[KEY_DEADLINE])
        return request->number[KEY_DEADLINE];
    return LX_OWN;
}

/* Whether this user has room for one more thread; who controls the system has. */
static bool has_room(struct doing *doing, struct member *member) {
    struct system *system = doing->system;
    uint32_t count = 0;

    if (doing->peer->trusted)
        return true;
    member->user = doing->peer->user;
    forget_ended(system);
    for (uint32_t i = 0; i < system->member_count; i++)
        count += system->member[i].user == member->user;
    if (count < USER_LIMIT || place_of(system, member) != system->member_count)
        return true;
    add(&doing->problem, "thread: found %u of this user, allowed: so many", count);
    return false;
}

static bool do_enter(struct doing *doing) {
    struct member member;

    if (!own_thread(doing, &member) || !named(doing, &member.server))
        return false;
    if (!may_enter(doing->peer, doing->system->server[member.server].users))
        return refuse(doing, "server: found one that is not open to this user, allowed: one with "
                             "users=all or a group of theirs");
    if (!has_room(doing, &member))
        return false;
    member.key = own_key(doing->request, doing->system->server[member.server].inside);
    return put_member(doing, &member);
}

static bool do_leave(struct doing *doing) {
    const struct system *system = doing->system;
    struct member member;

    if (!own_thread(doing, &member))
        return false;
    const uint32_t place = place_of(system, &member);
    if (place == system->member_count)
        return refuse(doing, "thread: found none of any server, allowed: one that has entered");
    member.server = system->member[place].server;
    return drop_member(doing, &member);
}

/* So that the start itself takes a moment only. */
static bool do_load(struct doing *doing) {
    if (!doing->system->has_policy)
        return refuse(doing, "load: found no policy, allowed: after policy");
    if (doing->system->running)
        return refuse(doing, "load: found a system in force, allowed: after stop");
    return agrees(doing, kernel_load(doing->system));
}

static bool do_start(struct doing *doing) {
    struct system *system = doing->system;

    if (!system->has_policy)
        return refuse(doing, "start: found no policy, allowed: after policy");
    if (system->running)
        return refuse(doing, "start: found a system in force, allowed: after stop");
    if (!all_leave_time(doing)
        || !agrees(doing, put_in_force(system, doing->request->number[KEY_EPOCH])))
        return false;
    system->tries = 0;
    return true;
}

static bool do_stop(struct doing *doing) {
    if (!doing->system->running && doing->system->again_ns == 0)
        return refuse(doing, "stop: found no system in force, allowed: after start");
    take_out_of_force(doing->system);
    return true;
}

static bool do_clear(struct doing *doing) {
    if (doing->system->running)
        return refuse(doing, "clear: found a system in force, allowed: after stop");
    clear_system(doing->system);
    return true;
}

static bool do_swap(struct doing *doing) {
    struct system *system = doing->system;
    const struct hp_policy before = system->config.policy;
    struct hp_policy policy;

    if (!system->has_policy || !doing->request->given[KEY_NAME])
        return refuse(doing, "swap: found no policy, allowed: after policy, with name=...");
    if (!read_policy(system, doing->request->word[KEY_NAME], &policy, &doing->problem)
        || !swap_policy(system, &policy, &doing->problem))
        return false;
    if (!system->running || agrees(doing, kernel_swap(system)))
        return true;
    swap_policy(system, &before, &doing->problem);
    return false;
}

static bool do_record(struct doing *doing) {
    doing->system->recording = doing->request->on;
    kernel_record(doing->request->on);
    return true;
}

static bool do_rings(struct doing *doing, int *file) {
    *file = kernel_rings(doing->system);
    return *file >= 0 || refuse(doing, "rings: found none, allowed: after start");
}

static bool do_requests(struct doing *doing, int *file) {
    char count[16];
    uint32_t left_out;

    if (!doing->system->has_policy)
        return refuse(doing, "requests: found no policy, allowed: after policy");
    renew_members(doing->system);
    *file = save_requests(doing->system, &left_out);
    if (*file < 0)
        return refuse(doing, "requests: no memory can be had");
    snprintf(count, sizeof(count), "%u", left_out);
    if (left_out > 0)
        warn(doing,
             "members: found %s processes and threads, which are left out: their numbers do "
             "not last",
             count);
    return true;
}

/* The only verbs for those who may not control the system. */
static bool is_permitted(struct doing *doing) {
    const enum verb verb = doing->request->verb;

    return doing->peer->trusted || verb == VERB_ENTER || verb == VERB_LEAVE
           || refuse(doing, "request: found one that changes or shows the system, allowed on this "
                            "socket: enter, leave");
}

static bool do_verb(struct doing *doing, int *file) {
    switch (doing->request->verb) {
    case VERB_POLICY:
        return do_policy(doing);
    case VERB_SERVER:
        return do_server(doing);
    case VERB_ATTACH:
        return do_attach(doing);
    case VERB_DETACH:
        return do_detach(doing);
    case VERB_LOAD:
        return do_load(doing);
    case VERB_START:
        return do_start(doing);
    case VERB_STOP:
        return do_stop(doing);
    case VERB_CLEAR:
        return do_clear(doing);
    case VERB_STATUS:
        renew_members(doing->system);
        return true;
    case VERB_SET:
        return do_set(doing);
    case VERB_SWAP:
        return do_swap(doing);
    case VERB_REMOVE:
        return do_remove(doing);
    case VERB_RECORD:
        return do_record(doing);
    case VERB_REQUESTS:
        return do_requests(doing, file);
    case VERB_RINGS:
        return do_rings(doing, file);
    case VERB_ENTER:
        return do_enter(doing);
    case VERB_LEAVE:
        return do_leave(doing);
    case VERB_COUNT:
        break;
    }
    return false;
}

void add_refusal(struct text *answer, const char *problem) {
    add(answer, "{\"ok\": false, \"error\": ");
    add_quoted(answer, problem);
    add(answer, "}");
}

bool perform(struct system *system, const struct request *request, const struct peer *peer,
             struct text *answer, int *file) {
    char problem[WARNING_BYTES], warnings[WARNING_BYTES];
    struct doing doing = {
        .system = system,
        .request = request,
        .peer = peer,
        .problem = text_in(problem, sizeof(problem)),
        .warnings = text_in(warnings, sizeof(warnings)),
    };

    *file = -1;
    if (!is_permitted(&doing) || !do_verb(&doing, file)) {
        add_refusal(answer, problem);
        return false;
    }
    add(answer, "{\"ok\": true");
    if (doing.warnings.length > 0)
        add(answer, ", \"warnings\": [%s]", warnings);
    if (request->verb == VERB_START)
        add(answer, ", \"base_ns\": %llu", kernel_state()->base_ns);
    if (request->verb == VERB_STATUS) {
        add(answer, ", ");
        add_status(answer, system);
    }
    add(answer, "}");
    return true;
}

bool perform_line(struct system *system, const char *line, const char *whose, enum verb *verb) {
    static char answer_bytes[ANSWER_BYTES], problem_bytes[512];
    static struct request request;
    const struct peer self = {.process = getpid(), .trusted = true, .socket = -1, .alive = -1};
    struct text answer = text_in(answer_bytes, sizeof(answer_bytes));
    struct text problem = text_in(problem_bytes, sizeof(problem_bytes));
    bool done = false;
    int file = -1;

    *verb = VERB_COUNT;
    if (read_request(line, strlen(line), &request, &problem)) {
        *verb = request.verb;
        done = perform(system, &request, &self, &answer, &file);
    }
    if (!done)
        say(LOG_ERR, "%s: %s", whose, *verb == VERB_COUNT ? problem.bytes : answer.bytes);
    if (file >= 0)
        close(file);
    return done;
}

/* The server that the kernel's half calls so, if it is there still. */
static const struct server *server_by(const struct system *system, uint32_t id) {
    for (uint32_t i = 0; i < SERVER_LIMIT; i++) {
        const struct server *server = &system->server[i];
        if (server->present && LX_ID(server->lock, server->number) == id)
            return server;
    }
    return NULL;
}

void grant_wishes(struct system *system) {
    char line[NAME_BYTES + 128], whose[NAME_BYTES + 32];
    struct lx_wish wish;
    enum verb verb;

    for (unsigned int count = 0; count < WISHES_AT_ONCE && kernel_wish(&wish); count++) {
        const struct server *server = server_by(system, wish.server);
        if (server == NULL)
            continue;
        snprintf(line, sizeof(line), "set %s period_ns=%llu budget_ns=%llu", server->name,
                 wish.period_ns, wish.budget_ns);
        snprintf(whose, sizeof(whose), "cpu.max of server %s", server->name);
        if (perform_line(system, line, whose, &verb)) {
            say(LOG_INFO, "%s: %s", whose, line);
            keep_requests(system);
        } else {
            system->refused++;
        }
    }
}
