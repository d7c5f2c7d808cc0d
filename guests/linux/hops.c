// SPDX-License-Identifier: BSD-2-Clause
//
// Hops of flows as threads on the Linux host: items go from one to the next by pipes.
//
// Each task that is a hop has two named pipes in a folder that all domains have. `hop-DOMAIN.TASK`
// takes items that get there, and `left-DOMAIN.TASK` those that have left, of flows that begin
// there. Whoever needs a pipe first makes it. A message is written and read whole, whoever else
// writes, and a pipe has room for all items that can be on their way.
//
// The thread of a hop sleeps until an item comes by its pipe, or by a source of its own (sources.h)
// when a timer says so: nobody else has to run for either. What waits for it stays in the pipe. It
// handles messages and sources in the order of their instants: a late look changes nothing. That an
// item left wakes it for clients only: any other source looks when it releases the next one.

#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include "guests/executive/sources.h"
#include "guests/linux/threads.h"
#include "record/record.h"

/* A page is free again only when it has been read whole: twice what is on its way is enough. */
#define PIPE_BYTES (2u * MAX_ITEMS * sizeof(struct message))
#define FILES_MOST (3u * MAX_TASKS + MAX_HOPS + 64u) /* and those of the process itself */
#define PATH_BYTES 4096u

enum way { LEFT, ITEMS, WAYS }; /* of two messages of one instant the first is handled first */

struct inbox {
    struct sources sources;
    struct pollfd look[WAYS + 1u]; /* the last one is the timer */
    struct message message[WAYS];  /* has been read and not yet been handled, */
    hp_u32 is_there[WAYS];         /* if this says so */
    hp_u64 timer_ticks;            /* for when the timer is set */
};

static const struct arguments *told;
static const char *folder;
static struct inbox *inboxes[MAX_TASKS]; /* of tasks that are hops */
static int onward[MAX_HOPS];             /* the pipe for items that are done at a hop */

static int open_way(enum way way, const struct hop *hop) {
    char path[PATH_BYTES];
    int length = snprintf(path, sizeof path, "%s/%s-%u.%u", folder, way == LEFT ? "left" : "hop",
                          hop->domain, hop->task);
    int file = -1;

    if ((size_t)length < sizeof path && (mkfifo(path, 0600) == 0 || errno == EEXIST))
        file = open(path, O_RDWR | O_NONBLOCK | O_CLOEXEC);
    if (file < 0 || fcntl(file, F_SETPIPE_SZ, PIPE_BYTES) < 0)
        give_up("a pipe for items cannot be made");
    return file;
}

static void open_inbox(hp_u32 task) {
    const struct hop here = {(hp_u32)told->domain, task};
    struct inbox *inbox = calloc(1, sizeof *inbox);
    int timer = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC);

    if (inbox == 0 || timer < 0)
        give_up("there is no memory, or no timer, for a hop");
    sources_init(&inbox->sources, told, task);
    inbox->look[LEFT].fd = open_way(LEFT, &here);
    inbox->look[LEFT].events = inbox->sources.sending.count > 0 ? POLLIN : 0;
    inbox->look[ITEMS] = (struct pollfd){open_way(ITEMS, &here), POLLIN, 0};
    inbox->look[WAYS] = (struct pollfd){timer, POLLIN, 0};
    inbox->timer_ticks = HP_NEVER;
    inboxes[task] = inbox;
}

/* The pipes for items that are done at the hops of a flow that are here. */
static void open_onward(const struct flow *flow) {
    const struct hop *hops = &told->hop[flow->first_hop];

    for (hp_u32 hop = 0; hop < flow->hops; hop++) {
        hp_u32 is_last = hop + 1u == flow->hops;

        if (hops[hop].domain == told->domain)
            onward[flow->first_hop + hop] =
                open_way(is_last ? LEFT : ITEMS, &hops[is_last ? 0 : hop + 1u]);
    }
}

void hops_init(const struct arguments *arguments, const char *shared) {
    const struct rlimit files = {FILES_MOST, FILES_MOST};

    told = arguments;
    folder = shared;
    if (told->flows > 0 && setrlimit(RLIMIT_NOFILE, &files) != 0)
        give_up("there are too few files for pipes");
    for (hp_u32 task = 0; task < told->tasks; task++) {
        if (told->task[task].kind == TASK_HOP)
            open_inbox(task);
    }
    for (hp_u32 i = 0; i < MAX_FLOWS; i++)
        open_onward(&told->flow[i]);
}

/* Whether a message has come that way and has not been handled. */
static hp_u32 look_at(struct inbox *inbox, enum way way) {
    struct message *message = &inbox->message[way];

    if (!inbox->is_there[way])
        inbox->is_there[way] =
            read(inbox->look[way].fd, message, sizeof *message) == sizeof *message;
    return inbox->is_there[way];
}

/* The way on which the older message is, or WAYS. */
static enum way older(struct inbox *inbox) {
    hp_u32 left = look_at(inbox, LEFT), item = look_at(inbox, ITEMS);

    if (left && item)
        return inbox->message[ITEMS].ticks < inbox->message[LEFT].ticks ? ITEMS : LEFT;
    if (left)
        return LEFT;
    return item ? ITEMS : WAYS;
}

/* Sleeps until a message comes, or the counter has come to `ticks`; HP_NEVER: until one comes. */
static void await(struct inbox *inbox, hp_u64 ticks) {
    struct itimerspec then = {{0, 0}, {0, 0}};

    if (ticks != inbox->timer_ticks) {
        if (ticks != HP_NEVER)
            then.it_value = linux_time(ticks);
        timerfd_settime(inbox->look[WAYS].fd, TFD_TIMER_ABSTIME, &then, 0);
        inbox->timer_ticks = ticks;
    }
    poll(inbox->look, WAYS + 1u, -1);
}

struct message hops_next(hp_u32 task) {
    struct inbox *inbox = inboxes[task];

    while (1) {
        hp_u64 release_ns = sources_next_ns(&inbox->sources), ticks = HP_NEVER;
        enum way way = older(inbox);

        if (release_ns < told->horizon_ns)
            ticks = clock_ticks(&clock_of_all, release_ns);
        if (way != WAYS && inbox->message[way].ticks <= ticks) {
            const struct message *message = &inbox->message[way];

            inbox->is_there[way] = 0;
            if (way == ITEMS)
                return *message;
            sources_left(&inbox->sources, place_flow(message->place),
                         clock_ns(&clock_of_all, message->ticks));
        } else if (ticks <= counter()) {
            hp_u64 place = sources_release(&inbox->sources);

            if (sources_admit(&inbox->sources, place_flow(place)))
                return (struct message){place, {ticks}};
            put(HP_RECORD_DROP, ticks, HP_RECORD_NONE, HP_RECORD_NONE, 0, place);
        } else {
            await(inbox, ticks);
        }
    }
}

void hops_pass_on(hp_u64 place, hp_u64 ticks) {
    const struct message message = {place_next(place), {ticks}};
    int file = onward[told->flow[place_flow(place)].first_hop + place_hop(place)];

    if (write(file, &message, sizeof message) != sizeof message)
        give_up("a pipe for items is full");
}
