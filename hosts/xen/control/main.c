// SPDX-License-Identifier: BSD-2-Clause
/*
 * hyperperiod-xen: pools with the hyperperiod scheduler, from dom0.
 *
 * It needs no change of Xen's toolstack: it makes the hypercalls itself, through libxencall. Exit
 * codes: 0 done; 1 the hypervisor refused; 2 bad input, nothing was done; 3 this machine lacks
 * something, and the message says what.
 */
#include <stdio.h>
#include <string.h>

#include "commands.h"

static int help(struct arguments *arguments);

static const struct command {
    const char *name;
    int (*run)(struct arguments *arguments);
    const char *usage;
    const char *about;
} commands[] = {
    {"pool-create", pool_create,
     "NAME|- --policy POLICY [--scope global|partitioned] --cpus LIST [--json]",
     "make a pool of these pcpus; they are free, or Pool-0 gives them up"},
    {"pool-info", pool_info, "[POOL] [--json]", "policy, pcpus and domains of one pool, or of all"},
    {"pool-destroy", pool_destroy, "POOL", "end a pool without domains; Pool-0 gets its pcpus"},
    {"move", move, "DOMAIN POOL", "move a running domain to another pool"},
    {"set", set,
     "DOMAIN [--vcpu V] --period TIME --budget TIME [--priority N] [--extra] [--force] | "
     "--best-effort [--weight N]",
     "give one vcpu or all of them a server, or none; --force: more than there is"},
    {"get", get, "DOMAIN [--vcpu V] [--json]", "the servers of a domain"},
    {"policy", pool_policy, "POOL POLICY", "replace the policy of a running pool"},
    {"spare", pool_spare, "POOL --period TIME --budget TIME", "the spare budget of a pool (ertds)"},
    {"apply", apply, "FILE [--check] [--force] [--watch]",
     "make pools and servers what the file says; --check: only look at the file;\n"
     "      --watch: stay, for domains that come later"},
    {"save", save, "FILE|-", "write what is in force, as such a file"},
    {"doctor", doctor, "[--json]", "what of this machine makes servers late, and what to do"},
    {"trace", trace, "POOL [--cpu N] [--follow] [-o FILE] [--json]",
     "the events of a pcpu of the pool, or a file of them"},
    {"stats", pool_stats, "POOL [--json]", "what each vcpu has used, donated and been refused"},
    {"record", pool_record, "POOL on|off", "whether the rings of a pool take events"},
    {"help", help, "[COMMAND]", "this text"},
};

#define COMMANDS (sizeof(commands) / sizeof(commands[0]))

static const struct command *command_named(const char *name) {
    for (unsigned int i = 0; i < COMMANDS; i++)
        if (strcmp(name, commands[i].name) == 0)
            return &commands[i];
    return NULL;
}

static void print_usage(const struct command *command) {
    printf("  hyperperiod-xen %s %s\n      %s\n", command->name, command->usage, command->about);
}

static int help(struct arguments *arguments) {
    if (arguments->count > 0) {
        const struct command *command = command_named(arguments->word[0]);
        if (command == NULL)
            fail(BAD_INPUT, "found no command '%s'; `hyperperiod-xen help` lists them",
                 arguments->word[0]);
        print_usage(command);
        return DONE;
    }
    printf("Pools of pcpus that Xen schedules by servers: budgets in periods.\n\n");
    for (unsigned int i = 0; i < COMMANDS; i++)
        print_usage(&commands[i]);
    printf("\nDOMAIN and POOL are numbers or the names that xl shows; TIME is a whole number with "
           "a\nunit (ns, us, ms, s), such as 10ms; LIST is 1,3-5. POLICY is a name (ptps, crps, "
           "rtds,\n...) or rules such as deferrable+edf+none.\n"
           "Exit codes: 0 done, 1 refused by the hypervisor (doctor: something is to be done), "
           "2 bad\ninput, 3 something is missing.\n");
    return DONE;
}

int main(int count, char **word) {
    struct arguments arguments = {word + 2, count - 2};
    if (count < 2) {
        fprintf(stderr, "error: found no command; `hyperperiod-xen help` lists them\n");
        return BAD_INPUT;
    }
    if (strcmp(word[1], "--help") == 0 || strcmp(word[1], "-h") == 0)
        return help(&(struct arguments){word, 0});
    const struct command *command = command_named(word[1]);
    if (command == NULL)
        fail(BAD_INPUT, "found no command '%s'; `hyperperiod-xen help` lists them", word[1]);
    if (take_flag(&arguments, "--help")) {
        print_usage(command);
        return DONE;
    }
    int code = command->run(&arguments);
    if (fflush(stdout) != 0 || ferror(stdout))
        fail(REFUSED, "cannot write to the standard output");
    return code;
}
