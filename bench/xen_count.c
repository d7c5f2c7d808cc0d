// SPDX-License-Identifier: BSD-2-Clause
//
// Counts the instructions that a machine with one pcpu executes in each function of its hypervisor,
// exactly: a plugin of QEMU (its interface, version 1: QEMU 7.2 to 8.1).
//
// ranges=FILE has a line per function, "START END OWN" in hexadecimal and in rising order, the end
// not included; OWN is 1 for functions of the scheduler. mark=ADDRESS is a place in the hypervisor
// that the measured system passes at the beginning and at the end; each time, a line goes to
// out=FILE: for every function, in the order of the ranges, how often its first instruction was
// executed, how many instructions in all, and how many there were in the whole hypervisor from
// where the scheduler was entered there until it returned.

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

// What is used of QEMU's interface for plugins.
struct qemu_plugin_tb;
struct qemu_plugin_insn;
typedef void (*tb_callback)(uint64_t id, struct qemu_plugin_tb *tb);
typedef void (*insn_callback)(unsigned int vcpu, void *data);
enum { NO_REGISTERS = 0, INLINE_ADD = 0 };
size_t qemu_plugin_tb_n_insns(const struct qemu_plugin_tb *tb);
struct qemu_plugin_insn *qemu_plugin_tb_get_insn(const struct qemu_plugin_tb *tb, size_t index);
uint64_t qemu_plugin_insn_vaddr(const struct qemu_plugin_insn *insn);
const void *qemu_plugin_insn_data(const struct qemu_plugin_insn *insn);
void qemu_plugin_register_vcpu_tb_trans_cb(uint64_t id, tb_callback callback);
void qemu_plugin_register_vcpu_insn_exec_inline(struct qemu_plugin_insn *insn, int operation,
                                                void *counter, uint64_t addend);
void qemu_plugin_register_vcpu_insn_exec_cb(struct qemu_plugin_insn *insn, insn_callback callback,
                                            int flags, void *data);

#define EXPORT __attribute__((visibility("default")))
EXPORT int qemu_plugin_version = 1;
EXPORT int qemu_plugin_install(uint64_t id, const void *info, int count, char **arguments);

struct function {
    uint64_t start, end;
    int is_own;
    uint64_t calls, instructions, with_callees;
};

static struct function *functions;
static size_t function_count;
static uint64_t mark;
static FILE *out;

// The call from outside into the scheduler that is not over yet, if there is one. It returns to
// behind the last call that was made, also if a function jumped here instead of calling.
static struct function *entered;
static uint64_t returns_to, last_call;
static uint64_t executed, executed_before;

static struct function *function_at(uint64_t address) {
    size_t low = 0, high = function_count;

    while (low < high) {
        const size_t middle = (low + high) / 2;
        if (functions[middle].end <= address)
            low = middle + 1;
        else
            high = middle;
    }
    if (low == function_count || functions[low].start > address)
        return NULL;
    return &functions[low];
}

static void passed_mark(unsigned int vcpu, void *data) {
    (void)vcpu;
    (void)data;
    for (size_t i = 0; i < function_count; i++)
        fprintf(out, "%llu %llu %llu ", (unsigned long long)functions[i].calls,
                (unsigned long long)functions[i].instructions,
                (unsigned long long)functions[i].with_callees);
    fputc('\n', out);
    fflush(out);
}

static void entered_function(unsigned int vcpu, void *data) {
    (void)vcpu;
    if (entered != NULL)
        return;
    entered = data;
    returns_to = last_call + 4;
    executed_before = executed;
}

static void began_block(unsigned int vcpu, void *data) {
    (void)vcpu;
    if (entered == NULL || (uint64_t)(uintptr_t)data != returns_to)
        return;
    entered->with_callees += executed - executed_before;
    entered = NULL;
}

static void called(unsigned int vcpu, void *data) {
    (void)vcpu;
    last_call = (uint64_t)(uintptr_t)data;
}

// Whether an instruction of arm64 is a call: BL, or BLR.
static int is_call(const struct qemu_plugin_insn *insn) {
    uint32_t code;

    memcpy(&code, qemu_plugin_insn_data(insn), sizeof code);
    return (code & 0xfc000000u) == 0x94000000u || (code & 0xfffffc1fu) == 0xd63f0000u;
}

static void translated(uint64_t id, struct qemu_plugin_tb *tb) {
    const size_t count = qemu_plugin_tb_n_insns(tb);

    (void)id;
    for (size_t i = 0; i < count; i++) {
        struct qemu_plugin_insn *insn = qemu_plugin_tb_get_insn(tb, i);
        const uint64_t address = qemu_plugin_insn_vaddr(insn);
        struct function *function = function_at(address);
        if (address == mark)
            qemu_plugin_register_vcpu_insn_exec_cb(insn, passed_mark, NO_REGISTERS, NULL);
        if (function == NULL)
            continue;
        if (i == 0)
            qemu_plugin_register_vcpu_insn_exec_cb(insn, began_block, NO_REGISTERS,
                                                   (void *)(uintptr_t)address);
        if (address == function->start && function->is_own)
            qemu_plugin_register_vcpu_insn_exec_cb(insn, entered_function, NO_REGISTERS, function);
        if (is_call(insn))
            qemu_plugin_register_vcpu_insn_exec_cb(insn, called, NO_REGISTERS,
                                                   (void *)(uintptr_t)address);
        qemu_plugin_register_vcpu_insn_exec_inline(insn, INLINE_ADD, &executed, 1);
        qemu_plugin_register_vcpu_insn_exec_inline(insn, INLINE_ADD, &function->instructions, 1);
        if (address == function->start)
            qemu_plugin_register_vcpu_insn_exec_inline(insn, INLINE_ADD, &function->calls, 1);
    }
}

static int read_ranges(const char *name) {
    unsigned long long start, end;
    int is_own;
    FILE *file = fopen(name, "r");

    if (file == NULL)
        return -1;
    while (fscanf(file, "%llx %llx %d", &start, &end, &is_own) == 3) {
        functions = realloc(functions, (function_count + 1) * sizeof *functions);
        if (functions == NULL)
            return -1;
        functions[function_count++] =
            (struct function){.start = start, .end = end, .is_own = is_own};
    }
    fclose(file);
    return 0;
}

int qemu_plugin_install(uint64_t id, const void *info, int count, char **arguments) {
    (void)info;
    for (int i = 0; i < count; i++) {
        char *value = strchr(arguments[i], '=') + 1;
        if (strncmp(arguments[i], "ranges=", 7) == 0 && read_ranges(value) != 0)
            return -1;
        if (strncmp(arguments[i], "mark=", 5) == 0)
            mark = strtoull(value, NULL, 16);
        if (strncmp(arguments[i], "out=", 4) == 0)
            out = fopen(value, "w");
    }
    if (out == NULL || function_count == 0)
        return -1;
    qemu_plugin_register_vcpu_tb_trans_cb(id, translated);
    return 0;
}
