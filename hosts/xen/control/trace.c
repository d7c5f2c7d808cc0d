// SPDX-License-Identifier: BSD-2-Clause
/*
 * The events of a lock domain: those of one pcpu, or of a whole pool under a global policy.
 *
 * The hypervisor keeps the last of them in a ring that goes round; this copies them out in
 * chunks. A file has the form of a ring (record/ring.h) that holds all of its records in
 * order; HP_RING_OVERFLOW says that earlier ones were lost.
 */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "commands.h"
#include "names.h"

#include "record/ring.h"

#define CHUNK 2048u
#define POLL_US 50000u

static volatile sig_atomic_t stopped;

static void stop(int number) {
    (void)number;
    stopped = 1;
}

/* The way out of the records: text, JSON or a file. */
struct output {
    FILE *file;
    const char *path;
    bool json;
    uint64_t count;
    bool lost;
};

static const char *kind_name(unsigned char kind) {
    switch (kind) {
#define TRACED(number, NAME, name, step, names)                                                    \
    case number:                                                                                   \
        return #name;
#define CALL(number, NAME, text)                                                                   \
    case number:                                                                                   \
        return text;
        HP_TRACE_KINDS(TRACED)
        HP_CALL_KINDS(CALL)
#undef TRACED
#undef CALL
    }
    return "unknown";
}

static void print_name(const char *what, unsigned int number) {
    if (number == HP_RECORD_NONE)
        return;
    if (number == HP_RECORD_SPARE)
        printf(" %s spare", what);
    else
        printf(" %s %u", what, number);
}

static void print_record(const struct hp_record *record) {
    printf("%10llu.%09llu pcpu %u %s", record->time / 1000000000, record->time % 1000000000,
           record->pcpu, kind_name(record->kind));
    print_name("vcpu", record->vcpu);
    print_name("payer", record->payer);
    if (record->value != 0)
        printf(" value %llu", record->value);
    if (record->job != 0)
        printf(" job %u", record->job);
    if (record->flags != 0)
        printf(" flags %#x", record->flags);
    printf("\n");
}

static void print_json_record(const struct hp_record *record) {
    printf("{\"time_ns\": %llu, \"kind\": \"%s\", \"pcpu\": %u, \"vcpu\": %d, \"payer\": %d, "
           "\"value\": %llu, \"job\": %u, \"flags\": %u}",
           record->time, kind_name(record->kind), record->pcpu, (int16_t)record->vcpu,
           (int16_t)record->payer, record->value, record->job, record->flags);
}

static void write_records(struct output *out, const struct hp_record *records, uint32_t count) {
    if (out->file != NULL && fwrite(records, sizeof(*records), count, out->file) != count)
        fail(REFUSED, "cannot write to %s: %s", out->path, strerror(errno));
    for (uint32_t i = 0; i < count && out->file == NULL; i++) {
        if (out->json)
            printf("%s\n", out->count + i > 0 ? "," : "");
        (out->json ? print_json_record : print_record)(&records[i]);
    }
    out->count += count;
    fflush(out->file != NULL ? out->file : stdout);
}

static void write_header(const struct output *out, uint32_t pcpu) {
    struct hp_ring header = {
        .header_bytes = sizeof(header),
        .record_bytes = sizeof(struct hp_record),
        .capacity = out->count,
        .written = out->count,
        .frequency_hz = 1000000000,
        .source = pcpu,
        .flags = out->lost ? HP_RING_OVERFLOW : 0,
    };
    memcpy(header.magic, HP_RING_MAGIC, sizeof(header.magic));
    rewind(out->file);
    if (fwrite(&header, sizeof(header), 1, out->file) != 1)
        fail(REFUSED, "cannot write to %s: %s", out->path, strerror(errno));
}

/* Copies what there is from a record on; returns the first that was not copied. */
static uint64_t copy_records(uint32_t pool, uint32_t pcpu, uint64_t from, struct output *out,
                             struct hp_record *records) {
    struct xen_sysctl_hyperperiod ring = {
        .op = XEN_HYPERPERIOD_OP_RING,
        .ring_pcpu = pcpu,
    };
    do {
        ring.ring_from = from;
        ring.ring_count = CHUNK;
        set_xen_guest_handle(ring.ring_records, (uint8_t *)records);
        int error = ask_pool(pool, &ring);
        if (error != 0)
            fail(REFUSED, "the ring of pcpu %u cannot be read: %s", pcpu, reason(error));
        if (ring.ring_from > from)
            out->lost = true;
        write_records(out, records, ring.ring_count);
        from = ring.ring_from + ring.ring_count;
    } while (ring.ring_count > 0 && from < ring.ring_written && !stopped);
    return from;
}

static uint32_t first_pcpu(const struct pool *pool) {
    for (uint32_t pcpu = 0; pcpu < MAX_PCPUS; pcpu++)
        if (has_pcpu(pool->pcpus, pcpu))
            return pcpu;
    fail(BAD_INPUT, "pool %u has no pcpu, and so no events", pool->id);
}

static struct output open_output(struct arguments *arguments) {
    struct output out = {.json = take_flag(arguments, "--json")};
    const char *path = take_option(arguments, "--output");
    out.path = path != NULL ? path : take_option(arguments, "-o");
    if (out.path == NULL)
        return out;
    if (out.json)
        fail(BAD_INPUT, "found --json and -o; allowed: one of the two");
    out.file = fopen(out.path, "wb");
    if (out.file == NULL)
        fail(BAD_INPUT, "cannot write to %s: %s", out.path, strerror(errno));
    return out;
}

int trace(struct arguments *arguments) {
    const char *cpu = take_option(arguments, "--cpu");
    bool follow = take_flag(arguments, "--follow");
    struct output out = open_output(arguments);
    const char *word = take_word(arguments, "pool");
    take_no_more(arguments);
    uint32_t pcpu = cpu == NULL ? 0 : (uint32_t)read_number(word_of(cpu), "--cpu", MAX_PCPUS - 1);
    open_hypervisor();
    struct pool pool = own_pool_named(word);
    if (cpu == NULL)
        pcpu = first_pcpu(&pool);
    if (!has_pcpu(pool.pcpus, pcpu))
        fail(BAD_INPUT, "--cpu: found %u; allowed: a pcpu of the pool", pcpu);

    struct hp_record *records = shared_memory(CHUNK * sizeof(*records));
    signal(SIGINT, stop);
    signal(SIGTERM, stop);
    if (out.file != NULL)
        write_header(&out, pcpu);
    if (out.json)
        printf("{\"records\": [");
    uint64_t from = copy_records(pool.id, pcpu, 0, &out, records);
    while (follow && !stopped) {
        usleep(POLL_US);
        from = copy_records(pool.id, pcpu, from, &out, records);
    }
    if (out.json)
        printf("]}\n");
    if (out.file != NULL) {
        write_header(&out, pcpu);
        if (fclose(out.file) != 0)
            fail(REFUSED, "cannot write to %s: %s", out.path, strerror(errno));
    }
    if (out.lost)
        warn("earlier records were overwritten in the ring (ring=BYTES on Xen's command line "
             "makes it larger)");
    return DONE;
}
