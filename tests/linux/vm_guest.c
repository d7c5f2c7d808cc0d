// SPDX-License-Identifier: BSD-2-Clause
/*
 * Two periodic tasks in a virtual machine, under the rate-monotonic scheduler, with nothing below
 * them but what QEMU emulates: a PC. `test_vm.py` builds and boots it.
 *
 * A job is a number of rounds of a loop. First each task is executed alone, and the longest time
 * that a job took is said, with what the scheduler itself took of it; from then on jobs are
 * released for ever, and each is said when it finishes:
 *
 *   task=T period_ns=N alone_ns=N
 *   job=T release_ns=N response_ns=N
 *
 * Numbers are in hexadecimal. What is said goes to port 0xe9, which QEMU writes to a file. The
 * clock is the processor's: a tick takes a nanosecond where QEMU itself is on a machine that counts
 * instructions. The guest never sleeps: what is left it spends looking for releases.
 */
typedef unsigned int u32;
typedef unsigned long long u64;

#define TASKS 2u
#define CHUNK 5000u /* rounds between two looks whether a better job was released */
#define TRIALS 5u
#define NEVER (~0ull)
#define SAID_AT 0xe9
#define FIRST_MASK 0x21 /* of the two interrupt controllers */
#define SECOND_MASK 0xa1
#define MULTIBOOT 0x1badb002u

/* What a boot loader looks for (the multiboot specification): magic, flags, and what makes 0. */
__attribute__((section(".text.head"), used)) static const u32 head[] = {MULTIBOOT, 0, -MULTIBOOT};

static struct task {
    u64 period_ns, release_ns; /* of its job, or of the next one */
    u32 rounds, left;          /* of its job; 0: it has none */
} tasks[TASKS] = {{.period_ns = 100000000, .rounds = 1000000},
                  {.period_ns = 250000000, .rounds = 2000000}};

static void put(unsigned short port, char byte) {
    __asm__ volatile("outb %0, %1" : : "a"(byte), "Nd"(port));
}

static void say(const char *name, u64 value) {
    int digit = 60;

    for (; *name; name++)
        put(SAID_AT, *name);
    while (digit > 0 && value >> digit == 0)
        digit -= 4;
    for (; digit >= 0; digit -= 4)
        put(SAID_AT, "0123456789abcdef"[value >> digit & 15]);
}

static u64 clock_ns(void) {
    u32 low, high;

    __asm__ volatile("rdtsc" : "=a"(low), "=d"(high));
    return (u64)high << 32 | low;
}

static void work(u32 rounds) {
    __asm__ volatile("1: dec %0\n\tjnz 1b" : "+r"(rounds));
}

static void release(void) {
    const u64 now_ns = clock_ns();

    for (u32 i = 0; i < TASKS; i++)
        if (tasks[i].left == 0 && now_ns >= tasks[i].release_ns)
            tasks[i].left = tasks[i].rounds;
}

static void complete(u32 number) {
    struct task *task = &tasks[number];
    const u64 now_ns = clock_ns();

    say("job=", number);
    say(" release_ns=", task->release_ns);
    say(" response_ns=", now_ns - task->release_ns);
    put(SAID_AT, '\n');
    /* A release is left out if the next one has passed as well: no backlog grows. */
    do
        task->release_ns += task->period_ns;
    while (task->release_ns != NEVER && task->release_ns + task->period_ns <= now_ns);
}

/* Executes a bit of the best job that there is; whether there was one. */
static u32 step(void) {
    release();
    for (u32 i = 0; i < TASKS; i++) {
        const u32 rounds = tasks[i].left < CHUNK ? tasks[i].left : CHUNK;
        if (rounds == 0)
            continue;
        work(rounds);
        tasks[i].left -= rounds;
        if (tasks[i].left == 0)
            complete(i);
        return 1;
    }
    return 0;
}

/* The longest time of some jobs of a task that is alone. */
static u64 alone_ns(struct task *task) {
    const u64 period_ns = task->period_ns;
    u64 longest_ns = 0;

    for (u32 trial = 0; trial < TRIALS; trial++) {
        const u64 start_ns = clock_ns();
        task->release_ns = start_ns;
        task->period_ns = NEVER - start_ns;
        while (step())
            ;
        const u64 took_ns = clock_ns() - start_ns;
        longest_ns = took_ns > longest_ns ? took_ns : longest_ns;
    }
    task->period_ns = period_ns;
    return longest_ns;
}

__attribute__((noreturn, used)) static void begin(void) {
    put(FIRST_MASK, -1);
    put(SECOND_MASK, -1);
    for (u32 i = 0; i < TASKS; i++)
        tasks[i].release_ns = NEVER;
    for (u32 i = 0; i < TASKS; i++) {
        const u64 longest_ns = alone_ns(&tasks[i]);
        say("task=", i);
        say(" period_ns=", tasks[i].period_ns);
        say(" alone_ns=", longest_ns);
        put(SAID_AT, '\n');
    }
    const u64 epoch_ns = clock_ns();
    for (u32 i = 0; i < TASKS; i++)
        tasks[i].release_ns = epoch_ns + tasks[i].period_ns;
    for (;;)
        step();
}

__asm__(".globl _start\n"
        "_start: mov $stack_end, %esp\n"
        "jmp begin\n"
        ".lcomm stack, 16384\n"
        ".set stack_end, stack + 16384\n");
