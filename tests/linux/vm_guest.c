// SPDX-License-Identifier: BSD-2-Clause
/*
 * Three periodic tasks in a virtual machine, under the rate-monotonic scheduler, with nothing below
 * them but what QEMU emulates: a PC, whose disk is on the PCI bus in slot 4 (virtio, as it was
 * before version 1 of its specification). `test_vm.py` builds and boots it.
 *
 * A job is a number of rounds of a loop. A job of the first task first reads a block, is released
 * when the block is there, and responds from when it asked. First each task is executed alone, and
 * the shortest time that a job took is said (what else the machine does made others longer); from
 * then on jobs are released for ever, and each is said when it finishes:
 *
 *   task=T period_ns=N alone_ns=N
 *   job=T release_ns=N response_ns=N
 *
 * Numbers are in hexadecimal. What is said goes to port 0xe9, which QEMU writes to a file. The
 * clock is the processor's: a tick takes a nanosecond where QEMU itself is on a machine that counts
 * instructions. The guest never sleeps: what is left it spends looking for releases.
 */
typedef unsigned short u16;
typedef unsigned int u32;
typedef unsigned long long u64;

#define TASKS 3u
#define READER 0u
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
} tasks[TASKS] = {{.period_ns = 40000000, .rounds = 20000},
                  {.period_ns = 100000000, .rounds = 500000},
                  {.period_ns = 250000000, .rounds = 1000000}};

/* The disk's queue of requests, and the only one there ever is: head, block, what became of it. */
#define QUEUE 8u /* its length, which QEMU is told too */
#define READ 0u
#define NEXT 1u
#define WRITE 2u
static u32 request[4] = {READ}, block[128];
static volatile unsigned char outcome;
static struct {
    struct {
        u64 address;
        u32 size;
        u16 flags, next;
    } parts[QUEUE];
    struct {
        volatile u16 no_interrupt, asked, first[QUEUE];
    } available;
    struct {
        volatile u16 flags, answered;
    } used __attribute__((aligned(4096)));
} queue __attribute__((aligned(4096)));
static u16 disk; /* the port at which its registers begin */

static void put(u16 port, char byte) {
    __asm__ volatile("outb %0, %1" : : "a"(byte), "Nd"(port));
}

static void put_word(u16 port, u16 word) {
    __asm__ volatile("outw %0, %1" : : "a"(word), "Nd"(port) : "memory");
}

static void put_long(u16 port, u32 value) {
    __asm__ volatile("outl %0, %1" : : "a"(value), "Nd"(port));
}

static u32 get_long(u16 port) {
    u32 value;

    __asm__ volatile("inl %1, %0" : "=a"(value) : "Nd"(port));
    return value;
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

#define PCI_AT 0xcf8 /* what of which device, and 4 behind it the value */
#define SLOT(offset) (0x80002000u + (offset))
static void start_disk(void) {
    put_long(PCI_AT, SLOT(0x10));
    disk = (u16)(get_long(PCI_AT + 4) & ~3u);
    put_long(PCI_AT, SLOT(4));
    put_long(PCI_AT + 4, 7); /* it may be reached and reach memory */
    put(disk + 18, 0);       /* status: reset, then a driver is there, then it is ready */
    put(disk + 18, 3);
    put_word(disk + 14, 0);
    queue.parts[0].address = (u32)request, queue.parts[0].size = sizeof request;
    queue.parts[0].flags = NEXT, queue.parts[0].next = 1;
    queue.parts[1].address = (u32)block, queue.parts[1].size = sizeof block;
    queue.parts[1].flags = NEXT | WRITE, queue.parts[1].next = 2;
    queue.parts[2].address = (u32)&outcome, queue.parts[2].size = 1;
    queue.parts[2].flags = WRITE;
    queue.available.no_interrupt = 1;
    put_long(disk + 8, (u32)&queue >> 12);
    put(disk + 18, 7);
}

/* Asks for a block when it is time, which is up to 17 ms late by a draw, so that reads are not in
 * step with the budgets of the vcpu; and releases the job when the block is there. */
static void read_block(struct task *task, u64 now_ns) {
    static u32 reads, draw;

    if (reads && queue.used.answered == queue.available.asked) {
        reads = 0;
        task->left = task->rounds;
    } else if (!reads && now_ns >= task->release_ns + (draw >> 8)) {
        reads = 1;
        draw = draw * 1664525 + 1013904223;
        task->release_ns = now_ns;
        queue.available.asked++;
        put_word(disk + 16, 0);
    }
}

static void release(void) {
    const u64 now_ns = clock_ns();

    for (u32 i = 0; i < TASKS; i++) {
        if (tasks[i].left != 0)
            continue;
        if (i == READER)
            read_block(&tasks[i], now_ns);
        else if (now_ns >= tasks[i].release_ns)
            tasks[i].left = tasks[i].rounds;
    }
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

/* The shortest time of some jobs of a task that is alone. */
static u64 alone_ns(struct task *task) {
    const u64 period_ns = task->period_ns;
    u64 shortest_ns = NEVER;

    for (u32 trial = 0; trial < TRIALS; trial++) {
        const u64 start_ns = clock_ns();
        task->left = task->rounds;
        task->release_ns = start_ns;
        task->period_ns = NEVER - start_ns;
        while (step())
            ;
        const u64 took_ns = clock_ns() - start_ns;
        shortest_ns = took_ns < shortest_ns ? took_ns : shortest_ns;
    }
    task->period_ns = period_ns;
    return shortest_ns;
}

__attribute__((noreturn, used)) static void begin(void) {
    put(FIRST_MASK, -1);
    put(SECOND_MASK, -1);
    start_disk();
    for (u32 i = 0; i < TASKS; i++)
        tasks[i].release_ns = NEVER;
    for (u32 i = 0; i < TASKS; i++) {
        const u64 shortest_ns = alone_ns(&tasks[i]);
        say("task=", i);
        say(" period_ns=", tasks[i].period_ns);
        say(" alone_ns=", shortest_ns);
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
