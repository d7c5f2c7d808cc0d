// SPDX-License-Identifier: BSD-2-Clause
/*
 * What this machine's kernel says of the programs of the Linux host that need no sched_ext: loads
 * each alone and prints its name and how many instructions the verifier looked at.
 *
 *   verify OBJECT    exit code 77 if the machine does not let us load programs
 */
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NAMES 64
#define NOT_ALLOWED 77

static char log_text[1 << 20];

static int print_nothing(enum libbpf_print_level level, const char *format, va_list words) {
    (void)level, (void)format, (void)words;
    return 0;
}

static bool is_here(const struct bpf_program *program) {
    const char *section = bpf_program__section_name(program);

    return strcmp(section, "syscall") == 0 || strncmp(section, "tp_btf/", 7) == 0;
}

static struct bpf_object *open_only(const char *path, const char *name) {
    struct bpf_object *object = bpf_object__open_file(path, NULL);
    struct bpf_program *program;
    struct bpf_map *map;

    if (object == NULL)
        exit(2);
    bpf_object__for_each_program(program, object) {
        bpf_program__set_autoload(program, strcmp(bpf_program__name(program), name) == 0);
        bpf_program__set_log_buf(program, log_text, sizeof(log_text));
    }
    bpf_object__for_each_map(map, object) {
        if (bpf_map__type(map) == BPF_MAP_TYPE_STRUCT_OPS)
            bpf_map__set_autocreate(map, false);
        if (strcmp(bpf_map__name(map), "rings") == 0
            || strcmp(bpf_map__name(map), "lock_domains") == 0)
            bpf_map__set_max_entries(map, 1);
    }
    return object;
}

static int verify(const char *path, const char *name) {
    struct bpf_object *object = open_only(path, name);
    struct bpf_prog_info info = {0};
    unsigned int bytes = sizeof(info);
    const int error = bpf_object__load(object);
    const struct bpf_program *program = bpf_object__find_program_by_name(object, name);

    if (error == -EPERM)
        return NOT_ALLOWED;
    if (error != 0 || bpf_obj_get_info_by_fd(bpf_program__fd(program), &info, &bytes) != 0) {
        fprintf(stderr, "%s is refused (%d):\n%s\n", name, error, log_text);
        return 1;
    }
    printf("%s %u\n", name, info.verified_insns);
    bpf_object__close(object);
    return 0;
}

int main(int count, char **words) {
    char *names[NAMES];
    int found = 0;
    struct bpf_object *object;
    struct bpf_program *program;

    if (count != 2)
        return 2;
    libbpf_set_print(print_nothing);
    object = bpf_object__open_file(words[1], NULL);
    if (object == NULL)
        return 2;
    bpf_object__for_each_program(program, object) if (is_here(program) && found < NAMES)
        names[found++] = strdup(bpf_program__name(program));
    bpf_object__close(object);
    for (int i = 0; i < found; i++) {
        const int result = verify(words[1], names[i]);

        if (result != 0)
            return result;
    }
    return 0;
}
