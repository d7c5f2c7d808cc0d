// SPDX-License-Identifier: BSD-2-Clause
//
// Counts the instructions that the scheduler's handlers take in a hypervisor, exactly: a plugin of
// QEMU (7.2 and later), for a machine with one pcpu.
//
//   own=FILE       the scheduler's functions, one in a line: START END in hexadecimal, in rising
//                  order, the end not included
//   handler=START  a function of these that others call; as many as there are, in an order
//   begin=ADDRESS  the first handler that is entered after this was last executed begins the count
//   end=ADDRESS    where this is executed the count ends
//   out=FILE       then a line for each handler: how often it was entered, and its instructions
//
// What a handler executes in the scheduler's functions is its own, whichever of them it is; what
// the rest of the hypervisor does for it is not. So every instruction counts for the handler that
// was entered last: none enters another one.

#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

// What is used of QEMU's interface for plugins.
struct qemu_plugin_tb;
struct qemu_plugin_insn;
typedef void (*tb_callback)(uint64_t id, struct qemu_plugin_tb *tb);
typedef void (*insn_callback)(unsigned int vcpu, void *data);
enum { NO_REGISTERS = 0 };
size_t qemu_plugin_tb_n_insns(const struct qemu_plugin_tb *tb);
struct qemu_plugin_insn *qemu_plugin_tb_get_insn(const struct qemu_plugin_tb *tb, size_t index);
uint64_t qemu_plugin_insn_vaddr(const struct qemu_plugin_insn *insn);
void qemu_plugin_register_vcpu_tb_trans_cb(uint64_t id, tb_callback callback);
void qemu_plugin_register_vcpu_insn_exec_cb(struct qemu_plugin_insn *insn, insn_callback callback,
                                            int flags, void *data);

#define EXPORT __attribute__((visibility("default")))
EXPORT int qemu_plugin_version = 1;
EXPORT int qemu_plugin_install(uint64_t id, const void *info, int count, char **arguments);

enum { HANDLERS = 16, FUNCTIONS = 4096 };

struct handler {
    uint64_t start;
    uint64_t calls, instructions;
};

struct function {
    uint64_t start, end;
};

static struct handler handlers[HANDLERS];
static size_t handler_count;
static struct function functions[FUNCTIONS];
static size_t function_count;
static uint64_t begin, end;
static const char *out;

static struct handler *inside; // the handler that was entered last
static bool is_new;            // begin was passed, and no handler was entered since
static bool is_over;

// QEMU looks at the version when this is loaded: one that knows this function wants the second.
__attribute__((constructor)) static void choose_version(void) {
    if (dlsym(RTLD_DEFAULT, "qemu_plugin_num_vcpus"))
        qemu_plugin_version = 2;
}

static void entered(unsigned int vcpu, void *data) {
    (void)vcpu;
    if (is_new)
        for (size_t i = 0; i < handler_count; i++)
            handlers[i].calls = handlers[i].instructions = 0;
    is_new = false;
    inside = data;
    inside->calls++;
    inside->instructions++;
}

static void executed(unsigned int vcpu, void *data) {
    (void)vcpu;
    (void)data;
    if (inside != NULL)
        inside->instructions++;
}

static void began(unsigned int vcpu, void *data) {
    (void)vcpu;
    (void)data;
    is_new = true;
}

static void ended(unsigned int vcpu, void *data) {
    FILE *file = is_over ? NULL : fopen(out, "w");

    (void)vcpu;
    (void)data;
    if (file == NULL)
        return;
    for (size_t i = 0; i < handler_count; i++)
        fprintf(file, "%llu %llu\n", (unsigned long long)handlers[i].calls,
                (unsigned long long)handlers[i].instructions);
    fclose(file);
    is_over = true;
}

static bool is_own(uint64_t address) {
    size_t low = 0, high = function_count;

    while (low < high) {
        const size_t middle = (low + high) / 2;
        if (functions[middle].end <= address)
            low = middle + 1;
        else
            high = middle;
    }
    return low < function_count && functions[low].start <= address;
}

static struct handler *handler_at(uint64_t address) {
    for (size_t i = 0; i < handler_count; i++)
        if (handlers[i].start == address)
            return &handlers[i];
    return NULL;
}

static void look_at(struct qemu_plugin_insn *insn) {
    const uint64_t address = qemu_plugin_insn_vaddr(insn);
    struct handler *handler = handler_at(address);

    if (address == begin)
        qemu_plugin_register_vcpu_insn_exec_cb(insn, began, NO_REGISTERS, NULL);
    if (address == end)
        qemu_plugin_register_vcpu_insn_exec_cb(insn, ended, NO_REGISTERS, NULL);
    if (handler != NULL)
        qemu_plugin_register_vcpu_insn_exec_cb(insn, entered, NO_REGISTERS, handler);
    else if (is_own(address))
        qemu_plugin_register_vcpu_insn_exec_cb(insn, executed, NO_REGISTERS, NULL);
}

static void translated(uint64_t id, struct qemu_plugin_tb *tb) {
    const size_t count = qemu_plugin_tb_n_insns(tb);

    (void)id;
    for (size_t i = 0; i < count; i++)
        look_at(qemu_plugin_tb_get_insn(tb, i));
}

static bool read_functions(const char *name) {
    unsigned long long first, last;
    FILE *file = fopen(name, "r");

    if (file == NULL)
        return false;
    while (function_count < FUNCTIONS && fscanf(file, "%llx %llx", &first, &last) == 2)
        functions[function_count++] = (struct function){.start = first, .end = last};
    fclose(file);
    return function_count > 0;
}

// Returns whether the argument NAME=VALUE is one that there is, and its value can be used.
static bool take(char *argument) {
    char *value = strchr(argument, '=');

    if (value == NULL)
        return false;
    *value++ = 0;
    if (strcmp(argument, "own") == 0)
        return read_functions(value);
    if (strcmp(argument, "handler") == 0 && handler_count < HANDLERS)
        handlers[handler_count++].start = strtoull(value, NULL, 16);
    else if (strcmp(argument, "begin") == 0)
        begin = strtoull(value, NULL, 16);
    else if (strcmp(argument, "end") == 0)
        end = strtoull(value, NULL, 16);
    else if (strcmp(argument, "out") == 0)
        out = strdup(value);
    else
        return false;
    return true;
}

int qemu_plugin_install(uint64_t id, const void *info, int count, char **arguments) {
    (void)info;
    for (int i = 0; i < count; i++)
        if (!take(arguments[i])) {
            fprintf(stderr, "handlers: cannot use the argument %s\n", arguments[i]);
            return -1;
        }
    if (handler_count == 0 || begin == 0 || end == 0 || out == NULL)
        return -1;
    qemu_plugin_register_vcpu_tb_trans_cb(id, translated);
    return 0;
}
