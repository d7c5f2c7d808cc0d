// SPDX-License-Identifier: BSD-2-Clause
/*
 * hyperperiodd: keeps the scheduler in the kernel, and does what is asked on its socket.
 *
 * The kernel's half decides everything; the daemon tells it which servers there are. So it sleeps
 * nearly always, and no decision waits for it. It holds the only link to the scheduler: when it
 * ends, in whichever way, the kernel's own scheduler goes on, and a new daemon knows nothing of the
 * servers before, unless they are in the file of --requests.
 *
 * With --keep that is so only when it is told to end. If it dies, servers go on by pins in bpffs,
 * and the next daemon takes them over: what was asked for so far is in a file beside the socket. So
 * it can be replaced, by SIGHUP: it is executed anew.
 *
 * Exit codes: 0 after SIGTERM, 1 if the kernel does not put in force what the file says, or has
 * ended it too often, 2 for bad input, 3 if the kernel or the machine lacks something.
 */
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "control.h"
#include "force.h"
#include "kernel.h"
#include "log.h"
#include "perform.h"
#include "save.h"

#define NOT_IN_FORCE 1
#define BAD_INPUT 2
#define LACKS 3

#define RUN_FOLDER "/run/hyperperiod"
#define KEEP_FOLDER "/sys/fs/bpf/hyperperiod"

struct options {
    const char *socket, *tasks, *group, *object, *requests, *keep;
    hp_u64 locks;
    bool foreground;
};

static const char usage[] =
    "usage: hyperperiodd [OPTION]...\n"
    "  --socket PATH    the control socket (" RUN_FOLDER "/control)\n"
    "  --group GROUP    may use it, besides root\n"
    "  --tasks PATH     the socket for threads that enter servers (" RUN_FOLDER "/tasks);\n"
    "                   none: no such socket\n"
    "  --object FILE    the BPF programs (/usr/local/lib/hyperperiod/hyperperiod.bpf.o)\n"
    "  --cpus N         load the programs at once, for up to so many cpus, not at the first start\n"
    "  --requests FILE  performed at the start, one in a line\n"
    "  --keep FOLDER    of bpffs (" KEEP_FOLDER "): servers go on if the daemon dies, and\n"
    "                   the next one takes them over, also the one that SIGHUP makes of it\n"
    "  --foreground     do not go into the background once everything is ready\n";

static bool read_options(int count, char **words, struct options *options) {
    static const struct option known[] = {
        {"socket", required_argument, NULL, 's'},   {"group", required_argument, NULL, 'g'},
        {"tasks", required_argument, NULL, 't'},    {"object", required_argument, NULL, 'o'},
        {"requests", required_argument, NULL, 'r'}, {"cpus", required_argument, NULL, 'c'},
        {"keep", required_argument, NULL, 'k'},     {"foreground", no_argument, NULL, 'f'},
        {"help", no_argument, NULL, 'h'},           {NULL, 0, NULL, 0},
    };
    int option;

    while ((option = getopt_long(count, words, "", known, NULL)) != -1) {
        switch (option) {
        case 's':
            options->socket = optarg;
            break;
        case 'g':
            options->group = optarg;
            break;
        case 't':
            options->tasks = optarg;
            break;
        case 'o':
            options->object = optarg;
            break;
        case 'r':
            options->requests = optarg;
            break;
        case 'k':
            options->keep = optarg;
            break;
        case 'c':
            if (!word_number(word_of(optarg), CPU_LIMIT, &options->locks)) {
                fprintf(stderr, "hyperperiodd: --cpus: found '%s', allowed: 0 to %u\n", optarg,
                        CPU_LIMIT);
                return false;
            }
            break;
        case 'f':
            options->foreground = true;
            break;
        case 'h':
            fputs(usage, stdout);
            exit(0);
        default:
            fputs(usage, stderr);
            return false;
        }
    }
    if (optind == count)
        return true;
    fprintf(stderr, "hyperperiodd: found '%s', allowed: options alone\n%s", words[optind], usage);
    return false;
}

/* Performs the requests of a file, as if they came on the control socket. One that is refused is
 * said, and the others are performed all the same: most of a system is better than none. But a
 * system that is to be in force, and is not, is none: returns the exit code then, and else 0. */
static int perform_file(struct system *system, const char *path) {
    char line[REQUEST_BYTES + 2], whose[512];
    FILE *file = fopen(path, "re");
    bool is_refused = false;
    enum verb verb;

    if (file == NULL) {
        say(LOG_ERR, "--requests: %s: %s", path, strerror(errno));
        return BAD_INPUT;
    }
    for (unsigned int number = 1; fgets(line, sizeof(line), file) != NULL; number++) {
        snprintf(whose, sizeof(whose), "%s:%u", path, number);
        if (line[0] == '\n' || line[0] == '#' || perform_line(system, line, whose, &verb))
            continue;
        is_refused |= verb == VERB_START;
    }
    fclose(file);
    return is_refused && !system->running ? NOT_IN_FORCE : 0;
}

/* Has a new daemon be made of this one, of the file that is there now. It takes over what is in
 * force. Returns if that cannot be. */
static void renew(char **words) {
    say(LOG_NOTICE, "executed anew");
    execvp(words[0], words);
    say(LOG_ERR, "%s: %s; goes on as it is", words[0], strerror(errno));
}

/*
 * Goes on in a process in the background. The one that was started ends when the other one says so,
 * in the file that is returned, and well; or when it ends, as that does. -1: no process can be had.
 */
static int into_background(void) {
    char word;
    int ends[2], status;

    if (pipe2(ends, O_CLOEXEC) != 0)
        return -1;
    const pid_t child = fork();
    if (child == 0) {
        setsid();
        return ends[1];
    }
    close(ends[1]);
    if (child < 0)
        return -1;
    if (read(ends[0], &word, 1) == 1)
        exit(0);
    exit(waitpid(child, &status, 0) == child && WIFEXITED(status) ? WEXITSTATUS(status) : LACKS);
}

int main(int count, char **words) {
    static struct system system;
    struct options options = {
        .socket = RUN_FOLDER "/control",
        .tasks = RUN_FOLDER "/tasks",
        .object = "/usr/local/lib/hyperperiod/hyperperiod.bpf.o",
    };
    const int signals = open_signals();
    char kept[256];
    bool lacks;
    int signal;

    if (!read_options(count, words, &options))
        return BAD_INPUT;
    const int starter = options.foreground ? -1 : into_background();
    begin_log(!options.foreground);
    if (!options.foreground && starter < 0) {
        say(LOG_ERR, "no process for the background: %s", strerror(errno));
        return LACKS;
    }
    mkdir(RUN_FOLDER, 0755);
    const int control = open_socket(options.socket, 0660, options.group);
    const int tasks =
        strcmp(options.tasks, "none") == 0 ? -1 : open_socket(options.tasks, 0666, NULL);
    if (control < 0 || (tasks < 0 && strcmp(options.tasks, "none") != 0))
        return LACKS;
    snprintf(kept, sizeof(kept), "%s.requests", options.socket);
    const bool known = options.keep != NULL && access(kept, R_OK) == 0;
    if (options.keep != NULL)
        kernel_keep(options.keep, known);
    const char *problem = kernel_open(options.object, (uint32_t)options.locks, &lacks);
    if (problem != NULL) {
        say(LOG_ERR, "%s", problem);
        return lacks ? LACKS : NOT_IN_FORCE;
    }
    if (known)
        say(LOG_NOTICE, "ready; what was asked of the daemon before is asked again, by %s", kept);
    else
        say(LOG_NOTICE, "ready; there are no servers, until requests make them");
    const char *requests = known ? kept : options.requests;
    const int code = requests == NULL ? 0 : perform_file(&system, requests);
    if (!system.running) /* what was found in force, and is not to be */
        kernel_stop();
    if (code != 0)
        return code;
    if (options.keep != NULL)
        keep_requests_at(kept);
    keep_requests(&system);
    /* Whoever started it goes on now that requests can come. */
    if (starter >= 0 && (chdir("/") != 0 || write(starter, "", 1) != 1 || close(starter) != 0))
        return LACKS;
    tell_systemd("READY=1");
    while ((signal = serve(&system, signals, control, tasks)) == SIGHUP && options.keep != NULL)
        renew(words);
    take_out_of_force(&system);
    kernel_close();
    unlink(kept);
    unlink(options.socket);
    if (tasks >= 0)
        unlink(options.tasks);
    say(LOG_NOTICE, "ended; the kernel's own scheduler goes on");
    return signal == 0 ? NOT_IN_FORCE : 0;
}
