// SPDX-License-Identifier: BSD-2-Clause
//
// A command that runs in a server on the Linux host, from the epoch of a run to its end:
//
//   supervise WORDS CGROUP LEFT LOG READY EPOCH END
//
// The file WORDS has, each with a zero behind it, the folder that is the command's root, its PATH,
// the program, and the command line. EPOCH and END are instants of the monotonic clock (ns).
//
// CGROUP is a cgroup, which has been attached to the server. A process enters it, makes the file
// READY, sleeps until EPOCH and then becomes the command: so all that the command does is done in
// the server. What it prints goes to LOG. At END, or when it is told to end (SIGTERM), this
// process asks all processes of the cgroup to end (SIGTERM), has the kernel end what is left after
// a while, and removes the cgroup. The file LEFT says then
//
//   RAN ENDED STATUS
//
// for how long (ns), as the kernel counts, the processes of the cgroup ran between EPOCH and END,
// when (ns since EPOCH) the command had ended by itself and with which exit code, as shells have
// it; -1 -1 if it had not.
//
// It is a process of real time, so that servers that leave nothing to others do not keep it from
// ending the command; it only runs when something happens. What is wrong is said on standard
// output.

#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "guests/linux/monotonic.h"

#define PRIORITY 50         /* above other programs, below those that end a run */
#define WORDS_BYTES 131072u /* as long as Linux lets a single argument be */
#define WORDS_MOST 4096u
#define GRACE_NS (2 * NS_PER_SECOND) /* between the two signals */
#define GONE_NS (20 * NS_PER_SECOND) /* a process that is ended needs its server for that */
#define LOOK_NS 5000000ll
#define KEPT_BYTES (1l << 20) /* of what a command prints */
#define SIGNALLED 128         /* what shells add to the number of a signal */
#define CANNOT_RUN 126        /* and say of a program that cannot be run */

static const char *cgroup, *left, *printed;
static char words[WORDS_BYTES];
static const char *root, *path;
static char *line[WORDS_MOST]; /* the program, and the command line */
static pid_t command;
static long long ended_ns = -1;
static int status = -1;

static _Noreturn void give_up(const char *what, const char *which) {
    dprintf(1, "supervise: %s: %s\n", what, which);
    exit(1);
}

/* --- the cgroup ------------------------------------------------------------------------------ */

/* Opens a file whose name is that of a folder or file and an ending. */
static int open_in(const char *folder, const char *ending, int flags) {
    char name[4096];
    int file;

    if (snprintf(name, sizeof name, "%s%s", folder, ending) >= (int)sizeof name)
        give_up("a path that is too long", folder);
    file = open(name, flags | O_CLOEXEC, 0600);
    if (file < 0)
        give_up(strerror(errno), name);
    return file;
}

static void write_setting(const char *name, const char *setting) {
    int file = open_in(cgroup, name, O_WRONLY);

    if (write(file, setting, strlen(setting)) < 0)
        give_up(strerror(errno), name);
    close(file);
}

/* The number behind a word in a file of the cgroup. */
static long long number_in(const char *name, const char *word) {
    char text[4096];
    int file = open_in(cgroup, name, O_RDONLY);
    ssize_t length = read(file, text, sizeof text - 1);
    const char *found;

    close(file);
    text[length < 0 ? 0 : length] = 0;
    found = strstr(text, word);
    if (found == 0)
        give_up("the kernel does not say this of a cgroup", word);
    return atoll(found + strlen(word));
}

/* For how long processes of the cgroup have run. */
static long long usage_ns(void) {
    return number_in("/cpu.stat", "usage_usec ") * 1000;
}

/* Asks each process of the cgroup to end. */
static void ask_to_end(void) {
    FILE *file = fdopen(open_in(cgroup, "/cgroup.procs", O_RDONLY), "r");
    int process;

    while (file != 0 && fscanf(file, "%d", &process) == 1)
        kill(process, SIGTERM);
    if (file != 0)
        fclose(file);
}

/* --- the command ----------------------------------------------------------------------------- */

static void read_words(const char *name) {
    int file = open_in(name, "", O_RDONLY);
    ssize_t length = read(file, words, sizeof words);
    char *word = words;
    size_t count = 0;

    close(file);
    if (length <= 0 || (size_t)length == sizeof words || words[length - 1] != 0)
        give_up("no words, or too many", name);
    root = word;
    path = word += strlen(word) + 1;
    while ((word += strlen(word) + 1) < words + length && count < WORDS_MOST)
        line[count++] = word;
    if (count < 2 || count == WORDS_MOST)
        give_up("no command, or too many words", name);
}

/* Becomes the command at the epoch; whoever waits at `ready` is told that it is all set. */
static _Noreturn void become(long long epoch_ns, int ready, const sigset_t *signals) {
    int output = open_in(printed, "", O_CREAT | O_TRUNC | O_WRONLY | O_APPEND);
    int nothing = open_in("/dev/null", "", O_RDONLY);

    prctl(PR_SET_PDEATHSIG, SIGKILL);
    write_setting("/cgroup.procs", "0");
    if (strcmp(root, "/") != 0 && (chroot(root) != 0 || chdir("/") != 0))
        give_up(strerror(errno), root);
    setenv("PATH", path, 1);
    prctl(PR_SET_TIMERSLACK, 1); /* ordinary processes wake up to 50 us late otherwise */
    if (write(ready, "", 1) != 1)
        give_up(strerror(errno), "ready");
    close(ready);
    sleep_until(epoch_ns);
    prctl(PR_SET_TIMERSLACK, 0);
    dup2(nothing, 0);
    dup2(output, 1);
    dup2(output, 2);
    sigprocmask(SIG_UNBLOCK, signals, 0);
    execv(line[0], line + 1);
    dprintf(2, "%s: %s\n", line[0], strerror(errno));
    _exit(CANNOT_RUN);
}

/* Makes the process that becomes the command, and waits until it sleeps in its cgroup. */
static void start(long long epoch_ns, const sigset_t *signals) {
    int pair[2];
    char told;

    if (pipe2(pair, O_CLOEXEC) != 0 || (command = fork()) < 0)
        give_up(strerror(errno), "fork");
    if (command == 0)
        become(epoch_ns, pair[1], signals);
    close(pair[1]);
    if (read(pair[0], &told, 1) != 1)
        give_up("does not come into its cgroup", line[1]);
    close(pair[0]);
}

/* Takes note of processes that have ended; only the first of them is the command. */
static void reap(long long epoch_ns) {
    int how;
    pid_t one;

    while ((one = waitpid(-1, &how, WNOHANG)) > 0) {
        if (one != command)
            continue;
        ended_ns = now_ns() - epoch_ns;
        status = WIFSIGNALED(how) ? SIGNALLED + WTERMSIG(how) : WEXITSTATUS(how);
    }
}

/* --- the end --------------------------------------------------------------------------------- */

/* Returns whether the cgroup has no process any more, which it may take so long for. */
static int is_empty_within(long long patience_ns, long long epoch_ns) {
    const struct timespec pause = time_of(LOOK_NS);
    const long long until_ns = now_ns() + patience_ns;

    for (;;) {
        reap(epoch_ns);
        if (number_in("/cgroup.events", "populated ") == 0)
            return 1;
        if (now_ns() > until_ns)
            return 0;
        nanosleep(&pause, 0);
    }
}

static void end_processes(long long epoch_ns) {
    ask_to_end();
    if (is_empty_within(GRACE_NS, epoch_ns))
        return;
    write_setting("/cgroup.kill", "1");
    if (!is_empty_within(GONE_NS, epoch_ns))
        give_up("processes do not end", cgroup);
}

/* Removes a cgroup that the command has made, or its own. */
static int remove_cgroup(const char *name, const struct stat *known, int kind, struct FTW *place) {
    (void)known, (void)place;
    return kind == FTW_DP && rmdir(name) != 0 ? errno : 0;
}

static void leave(long long ran_ns, long long command_ended_ns, int command_status) {
    FILE *file = fdopen(open_in(left, "", O_CREAT | O_TRUNC | O_WRONLY), "w");
    int output = open_in(printed, "", O_RDWR);
    struct stat known;

    if (fstat(output, &known) == 0 && known.st_size > KEPT_BYTES
        && ftruncate(output, KEPT_BYTES) != 0)
        give_up(strerror(errno), left);
    if (file == 0 || fprintf(file, "%lld %lld %d\n", ran_ns, command_ended_ns, command_status) < 0
        || fclose(file) != 0)
        give_up("cannot be written", left);
}

int main(int count, char **word) {
    const struct sched_param param = {.sched_priority = PRIORITY};
    long long before_ns, ran_ns, epoch_ns, end_ns, rest_ns, command_ended_ns;
    int command_status, which;
    sigset_t signals;

    if (count != 8)
        give_up("usage", "supervise WORDS CGROUP LEFT LOG READY EPOCH END");
    read_words(word[1]);
    cgroup = word[2];
    left = word[3];
    printed = word[4];
    epoch_ns = atoll(word[6]);
    end_ns = atoll(word[7]);
    sigemptyset(&signals);
    sigaddset(&signals, SIGCHLD);
    sigaddset(&signals, SIGTERM);
    sigprocmask(SIG_BLOCK, &signals, 0);
    /* Ends it also if whoever has started this is gone; what it leaves alone is ours to wait for.
     */
    prctl(PR_SET_PDEATHSIG, SIGTERM);
    prctl(PR_SET_CHILD_SUBREAPER, 1);
    start(epoch_ns, &signals);
    if (sched_setscheduler(0, SCHED_FIFO, &param) != 0)
        give_up("no real time", strerror(errno));
    before_ns = usage_ns();
    close(open_in(word[5], "", O_CREAT | O_WRONLY));

    while ((rest_ns = end_ns - now_ns()) > 0) {
        const struct timespec rest = time_of(rest_ns);

        which = sigtimedwait(&signals, 0, &rest);
        if (which == SIGTERM)
            break;
        reap(epoch_ns);
    }
    ran_ns = usage_ns() - before_ns;
    command_ended_ns = ended_ns;
    command_status = status;
    end_processes(epoch_ns);
    if (nftw(cgroup, remove_cgroup, 8, FTW_DEPTH | FTW_PHYS) != 0)
        give_up("cannot be removed", cgroup);
    leave(ran_ns, command_ended_ns, command_status);
    return 0;
}
