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
// On x86-64 both are at ports, and the watchdog is an "ib700". On arm64, whose board is "virt",
// they are in memory, and the watchdog is an "i6300esb", a device of PCI.
//
// What is wrong is said on standard error.

#include <arpa/inet.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define LOOK_EVERY_US 70000u /* not at the instant of the snapshot */
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

#ifdef __x86_64__

#include <sys/io.h>

#define WATCHDOG 0x443u /* starts it */
#define IN_TWO_SECONDS 14u
#define SELECT 0x510u
#define DATA 0x511u

static void find_devices(void) {
    if (iopl(3) != 0)
        give_up("snapshot: iopl");
}

// The next byte of what is selected.
static unsigned char next_byte(void) {
    return inb(DATA);
}

// Chooses which entry is read, from its beginning.
static void select_entry(uint16_t entry) {
    outw(entry, SELECT);
}

// Has QEMU stop the machine two seconds from now.
static void start_watchdog(void) {
    outb(IN_TWO_SECONDS, WATCHDOG);
}

#else

#define CONFIGURATION 0x9020000 /* where its bytes are read, one after the other */
#define SELECT 8u               /* behind that; takes a big-endian number */
#define WATCHDOG "/sys/bus/pci/devices/0000:00:10.0/"
#define LOCK 0x68 /* of its settings in PCI */
#define ENABLED 2u
#define RELOAD 3u /* of its words: the next write counts after these two */
#define UNLOCK_FIRST 0x80u
#define UNLOCK_THEN 0x86u
#define IN_A_SECOND 1000u /* of 983 us; it acts when both of its timers have run */

static volatile unsigned char *configuration;

static volatile void *mapped(const char *path, off_t offset) {
    int file = open(path, O_RDWR | O_SYNC);
    void *found = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, file, offset);

    if (found == MAP_FAILED)
        give_up(path);
    close(file);
    return found;
}

static void write_to(const char *path, uint8_t byte, off_t offset) {
    int file = open(path, O_WRONLY);

    if (pwrite(file, &byte, 1, offset) != 1)
        give_up(path);
    close(file);
}

static void find_devices(void) {
    configuration = mapped("/dev/mem", CONFIGURATION);
}

static unsigned char next_byte(void) {
    return *configuration;
}

static void select_entry(uint16_t entry) {
    *(volatile uint16_t *)(configuration + SELECT) = htons(entry);
}

static void start_watchdog(void) {
    volatile uint32_t *timer;

    write_to(WATCHDOG "enable", '1', 0);
    timer = mapped(WATCHDOG "resource0", 0);
    for (unsigned stage = 0; stage < 2; stage++) {
        timer[RELOAD] = UNLOCK_FIRST;
        timer[RELOAD] = UNLOCK_THEN;
        timer[stage] = IN_A_SECOND;
    }
    write_to(WATCHDOG "config", ENABLED, LOCK);
}

#endif

// Takes the next bytes of what is selected.
static void take(void *to, size_t bytes) {
    unsigned char *byte = to;
    for (size_t each = 0; each < bytes; each++)
        byte[each] = next_byte();
}

// Looks for the file among those that are there, and selects it; how long it is.
static uint32_t select_given(void) {
    uint32_t count;
    select_entry(FILES);
    take(&count, sizeof(count));
    for (uint32_t each = ntohl(count); each > 0; each--) {
        struct file file;
        take(&file, sizeof(file));
        if (strcmp(file.name, GIVEN) == 0) {
            select_entry(ntohs(file.entry));
            return ntohl(file.bytes);
        }
    }
    fputs("snapshot: the machine has no file " GIVEN "\n", stderr);
    exit(1);
}

int main(void) {
    static char part[65536];
    find_devices();
    uint32_t left = select_given();
    if (left == 0)
        start_watchdog();
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
