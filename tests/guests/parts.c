// SPDX-License-Identifier: BSD-2-Clause
//
// The parts of a guest that read what comes from outside and write what goes there, as a program:
//
//   parts arguments            text on standard input: prints what was understood, or the error
//   parts tree NAME            a tree on standard input: prints a property of /chosen in hex
//   parts damage AMOUNT SEED   a tree on standard input: reads so many damaged copies of it
//   parts noise AMOUNT SEED    text on standard input: reads so many damaged copies of it
//   parts wire ROOM AMOUNT SEED writes and takes that many messages, some at a time
//   parts ring BYTES RECORDS   writes that many records into a ring, ends it, prints its memory
//   parts clock HZ EPOCH       lines 'n TICKS' and 't NS': prints nanoseconds or ticks

#include "guests/executive/arguments.h"
#include "guests/executive/clock.h"
#include "guests/executive/tree.h"
#include "guests/executive/wire.h"
#include "guests/executive/writer.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* All of standard input, in a block of exactly its size. */
static char *read_all(size_t *size) {
    char *data = malloc(1);
    int c;

    *size = 0;
    while ((c = getchar()) != EOF) {
        data = realloc(data, *size + 1);
        data[(*size)++] = (char)c;
    }
    return data;
}

static void print_task(const struct task *task) {
    printf("task %d %llu %llu %llu %llu %llu %llu %llu %u\n", (int)task->kind, task->period_ns,
           task->wcet_ns, task->bcet_ns, task->deadline_ns, task->offset_ns, task->jitter_ns,
           task->rank, task->vcpu);
}

static void print_flow(const struct arguments *told, hp_u32 number) {
    const struct flow *flow = &told->flow[number];

    if (flow->hops == 0)
        return;
    if (flow->clients > 0)
        printf("clients %u %llu %llu %llu %llu %llu", number, flow->think_least_ns,
               flow->source.offset_ns, flow->think_most_ns, flow->clients, flow->queue);
    else
        printf("flow %u %d %llu %llu %llu %llu %llu", number, (int)flow->source.kind,
               flow->source.period_ns, flow->source.offset_ns, flow->source.jitter_ns, flow->burst,
               flow->queue);
    for (hp_u32 i = 0; i < flow->hops; i++)
        printf(" %u.%u", told->hop[flow->first_hop + i].domain,
               told->hop[flow->first_hop + i].task);
    if (flow->comes != HP_NONE)
        printf(" comes %u", flow->comes);
    if (flow->goes != HP_NONE)
        printf(" goes %u", flow->goes);
    printf("\n");
}

static void print_arguments(const struct arguments *told) {
    printf("%d %d %llu %llu %llu %llu %llu %llu %llu %llu %llu %llu %llu\n", (int)told->workload,
           (int)told->scheduler, told->domain, told->vcpus, told->epoch_ticks, told->horizon_ns,
           told->seed, told->memory_bytes, told->rate, told->loop_ns, told->task_time_ns,
           told->task_period_ns, told->period_ns);
    for (hp_u32 i = 0; i < told->tasks; i++)
        print_task(&told->task[i]);
    for (hp_u32 i = 0; i < MAX_FLOWS; i++)
        print_flow(told, i);
    for (hp_u32 i = 0; i < told->wires; i++)
        printf("wire %u %u %llu %llu\n", told->wire[i].domain, told->wire[i].port,
               told->wire[i].offset, told->wire[i].room);
    for (hp_u32 i = 0; i < MAX_CARDS; i++) {
        const struct card *card = &told->card[i];

        if (card->interrupt > 0)
            printf("card %u %llu %llu %llu %llu\n", i, card->interrupt, card->address, card->place,
                   card->ring);
    }
}

static int read_arguments(void) {
    static struct arguments told;
    struct arguments_error error;
    size_t size;
    char *text = read_all(&size);

    arguments_init(&told);
    error = arguments_read(&told, (struct word){text, size});
    if (error.message == 0)
        error = arguments_check(&told);
    if (error.message == 0)
        error = arguments_check_wires(&told);
    if (error.message == 0)
        print_arguments(&told);
    else
        printf("%.*s: %s\n", (int)error.word.length, error.word.start, error.message);
    free(text);
    return error.message != 0;
}

static int read_tree(const char *name) {
    size_t size;
    char *tree = read_all(&size);
    struct tree_value value = tree_chosen(tree, name);

    printf("%s %llu ", value.bytes == 0 ? "no" : "yes", tree_number(value));
    for (hp_u32 i = 0; i < value.length; i++)
        printf("%02x", value.bytes[i]);
    printf("\n");
    free(tree);
    return 0;
}

/* A copy of exactly `size` bytes with up to four of them changed, from `first` on. */
static char *damaged(const char *data, size_t size, size_t first, hp_u64 seed, hp_u64 job) {
    char *copy = malloc(size);

    memcpy(copy, data, size);
    for (hp_u32 i = 0; i < 4; i++) {
        hp_u64 draw = hp_draw(seed, 0, i, job, 0);

        copy[first + (draw >> 8) % (size - first)] = (char)draw;
    }
    return copy;
}

/* The magic and the length of a tree are left as they are: they are whoever boots us's word. */
static int read_damaged_trees(hp_u64 amount, hp_u64 seed) {
    size_t size;
    char *tree = read_all(&size);
    hp_u64 found = 0;

    for (hp_u64 i = 0; i < amount; i++) {
        char *copy = damaged(tree, size, 8, seed, i);

        found += tree_chosen(copy, "bootargs").bytes != 0;
        free(copy);
    }
    printf("%llu\n", found);
    free(tree);
    return 0;
}

static int read_damaged_texts(hp_u64 amount, hp_u64 seed) {
    static struct arguments told;
    size_t size;
    char *text = read_all(&size);
    hp_u64 refused = 0;

    for (hp_u64 i = 0; i < amount; i++) {
        char *copy = damaged(text, size, 0, seed, i);

        arguments_init(&told);
        if (arguments_read(&told, (struct word){copy, size}).message != 0
            || arguments_check(&told).message != 0)
            refused++;
        free(copy);
    }
    printf("%llu\n", refused);
    free(text);
    return 0;
}

/* Random turns of both sides: what comes is what went, in order, and a full ring takes nothing. */
static int try_wire(hp_u64 room, hp_u64 amount, hp_u64 seed) {
    struct wire_ring *ring = malloc(wire_ring_bytes(room));
    hp_u64 put = 0, taken = 0, refused = 0;

    ring->written = ring->taken = ~0ull - 5u; /* so that the indices turn over */
    for (hp_u64 turn = 0; taken < amount; turn++) {
        hp_u64 draw = hp_draw(seed, 0, 0, turn, 0);
        const struct message *next = wire_look(ring, room);

        if ((next == 0) != (put == taken))
            return 1;
        if (draw % 2u == 0 && next != 0) {
            struct message message = wire_take(ring, room);

            if (message.place != taken || message.ticks != taken * taken)
                return 1;
            taken++;
        } else if (draw % 2u == 1) {
            hp_u32 had_room = wire_put(ring, room, (struct message){put, {put * put}});

            if (had_room != (put - taken < room))
                return 1;
            put += had_room;
            refused += !had_room;
        }
    }
    printf("%llu\n", refused);
    free(ring);
    return 0;
}

static int write_ring(size_t bytes, unsigned long records) {
    unsigned char *memory = malloc(bytes);
    struct writer writer = writer_init(memory, bytes, 3, 62500000, 1000);

    for (unsigned long i = 0; i < records; i++)
        writer_put(&writer, record_of(HP_RECORD_RUN, 1000 + i, 1, 2, i, 7 * i));
    writer_end(&writer, 99999);
    writer_end(&writer, 99999);
    fwrite(memory, 1, bytes, stdout);
    free(memory);
    return 0;
}

static int convert(hp_u64 hz, hp_u64 epoch) {
    struct clock clock;
    unsigned long long value;
    char what;

    clock_init(&clock, hz, epoch);
    while (scanf(" %c %llu", &what, &value) == 2)
        printf("%llu\n", what == 'n' ? clock_ns(&clock, value) : clock_ticks(&clock, value));
    return 0;
}

int main(int count, char **words) {
    if (count == 2 && strcmp(words[1], "arguments") == 0)
        return read_arguments();
    if (count == 3 && strcmp(words[1], "tree") == 0)
        return read_tree(words[2]);
    if (count == 4 && strcmp(words[1], "damage") == 0)
        return read_damaged_trees(strtoull(words[2], 0, 10), strtoull(words[3], 0, 10));
    if (count == 4 && strcmp(words[1], "noise") == 0)
        return read_damaged_texts(strtoull(words[2], 0, 10), strtoull(words[3], 0, 10));
    if (count == 5 && strcmp(words[1], "wire") == 0)
        return try_wire(strtoull(words[2], 0, 10), strtoull(words[3], 0, 10),
                        strtoull(words[4], 0, 10));
    if (count == 4 && strcmp(words[1], "ring") == 0)
        return write_ring(strtoul(words[2], 0, 10), strtoul(words[3], 0, 10));
    if (count == 4 && strcmp(words[1], "clock") == 0)
        return convert(strtoull(words[2], 0, 10), strtoull(words[3], 0, 10));
    fprintf(stderr, "usage: see the top of parts.c\n");
    return 2;
}
