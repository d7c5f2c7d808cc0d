// SPDX-License-Identifier: BSD-2-Clause
//
// Where a machine of QEMU's begins that was made before (hosts/linux/machine.py): `snapshot` waits
// until the machine has the files of a run, and writes them to standard output: an archive, which
// QEMU holds ready as the file GIVEN of its "firmware configuration".
//
// Where there are none yet, QEMU is to take a snapshot of the machine: a watchdog stops it in a
// while. It is then asleep. So the clock goes from this timer to that one as it always does, and
// the instant of the snapshot does not depend on when a thread of QEMU's gets to it, as it does if
// a machine that has work is stopped. Whoever goes on from the snapshot has files for it.
//
// What is wrong is said on standard error.

#include <arpa/inet.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/io.h>
#include <unistd.h>

#define WATCHDOG 0x443u /* of an "ib700": starts it */
#define IN_TWO_SECONDS 14u
#define LOOK_EVERY_US 70000u /* not at the instant of the snapshot */
#define SELECT 0x510u        /* which entry is read, from its beginning */
#define DATA 0x511u          /* its bytes, one after the other */
#define FILES 0x19u          /* the entry that says where files are; its numbers are big-endian */
#define GIVEN "opt/hyperperiod/given"

struct file {
    uint32_t bytes;
    uint16_t entry;
    uint16_t reserved;
    char name[56];
};

static _Noreturn void give_up(const char *what) {
    perror(what);
    exit(1);
}

// Takes the next bytes of what is selected.
static void take(void *to, size_t bytes) {
    unsigned char *byte = to;
    for (size_t each = 0; each < bytes; each++)
        byte[each] = inb(DATA);
}

// Looks for the file among those that are there, and selects it; how long it is.
static uint32_t select_given(void) {
    uint32_t count;
    outw(FILES, SELECT);
    take(&count, sizeof(count));
    for (uint32_t each = ntohl(count); each > 0; each--) {
        struct file file;
        take(&file, sizeof(file));
        if (strcmp(file.name, GIVEN) == 0) {
            outw(ntohs(file.entry), SELECT);
            return ntohl(file.bytes);
        }
    }
    fputs("snapshot: the machine has no file " GIVEN "\n", stderr);
    exit(1);
}

int main(void) {
    static char part[65536];
    if (iopl(3) != 0)
        give_up("snapshot: iopl");
    uint32_t left = select_given();
    if (left == 0)
        outb(IN_TWO_SECONDS, WATCHDOG);
    while (left == 0) {
        usleep(LOOK_EVERY_US);
        left = select_given();
    }
    while (left > 0) {
        uint32_t bytes = left < sizeof(part) ? left : (uint32_t)sizeof(part);
        take(part, bytes);
        if (fwrite(part, 1, bytes, stdout) != bytes)
            give_up("snapshot: standard output");
        left -= bytes;
    }
    if (fflush(stdout) != 0)
        give_up("snapshot: standard output");
    return 0;
}
