// SPDX-License-Identifier: BSD-2-Clause
//
// The first and only program of the Linux guest: reads what it is told, and runs the tasks of its
// domain as threads (threads.c).
//
// It is told the words of docs/xen/guests.md, in the file /words of the initial file system. Linux
// was told to use a part of its memory only (mem=); the ring begins behind that, where /dev/mem
// lets us write. What is wrong it says on the console, and stops.

#define _GNU_SOURCE
#include "guests/linux/threads.h"

#include <fcntl.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "record/ring.h"

#define RAM_START 0x40000000ull

static struct arguments told;

_Noreturn void give_up(const char *what) {
    dprintf(1, "linux-guest: %s\n", what);
    while (1)
        pause();
}

static void write_file(const char *path, const char *text) {
    int file = open(path, O_WRONLY);
    ssize_t length = 0;

    while (text[length] != 0)
        length++;
    if (file < 0 || write(file, text, (size_t)length) != length) {
        dprintf(1, "linux-guest: %s: ", path);
        give_up("cannot be written");
    }
    close(file);
}

static void open_console(void) {
    int console;

    mount("dev", "/dev", "devtmpfs", 0, "");
    console = open("/dev/console", O_RDWR);
    for (int descriptor = 0; descriptor < 3; descriptor++)
        dup2(console, descriptor);
}

/* Real-time threads may use all of a vcpu: what limits them is the server outside. */
static void lift_limits(void) {
    char path[64];

    mount("proc", "/proc", "proc", 0, "");
    mount("sys", "/sys", "sysfs", 0, "");
    mount("debug", "/sys/kernel/debug", "debugfs", 0, "");
    write_file("/proc/sys/kernel/sched_rt_runtime_us", "-1");
    for (hp_u32 vcpu = 0; vcpu < told.vcpus; vcpu++) {
        snprintf(path, sizeof path, "/sys/kernel/debug/sched/fair_server/cpu%u/runtime", vcpu);
        write_file(path, "0");
    }
    if (mlockall(MCL_CURRENT | MCL_FUTURE) != 0)
        give_up("memory cannot be locked");
}

/* Load of the kernel, of ordinary priority: a process that makes one that ends, over and over. */
static void start_forking(void) {
    if (fork() != 0)
        return;
    while (1) {
        if (fork() == 0)
            _exit(0);
        wait(0);
    }
}

static struct ring_memory map_ring(void) {
    struct ring_memory memory = {0, told.memory_bytes - RING_OFFSET, 0};
    int file = open("/dev/mem", O_RDWR);

    if (file >= 0)
        memory.start = mmap(0, memory.bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file,
                            (off_t)(RAM_START + RING_OFFSET));
    if (file < 0 || memory.start == MAP_FAILED)
        give_up("the memory of the ring cannot be reached");
    memory.ahead_ticks = ((const struct hp_ring *)memory.start)->reserved;
    return memory;
}

int main(void) {
    open_console();
    read_words("/words", &told);
    if (told.memory_bytes <= RING_OFFSET)
        give_up("memory= leaves no room for the ring");
    if (told.flows > 0)
        give_up("there are no wires to other domains");
    lift_limits();
    if (told.workload == WORKLOAD_DEVICE)
        device_open();
    for (hp_u64 i = 0; i < told.forks; i++)
        start_forking();
    run_threads(&told, map_ring());
    while (1)
        pause();
}
