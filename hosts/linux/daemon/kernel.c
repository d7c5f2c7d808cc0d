// SPDX-License-Identifier: BSD-2-Clause
#include "kernel.h"

#include <bpf/bpf.h>
#include <bpf/btf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <time.h>
#include <unistd.h>

#include "enders.h"
#include "log.h"

#define SCHED_EXT "/sys/kernel/sched_ext"
#define CPUS "/sys/devices/system/cpu/possible"
#define CACHES "/sys/devices/system/cpu/cpu%u/cache/index%u/shared_cpu_list"
#define CACHE_LEVELS 8u
#define SCHEDULER_NAME "/sys/kernel/sched_ext/root/ops"
#define RECORD_BYTES 32u
#define PARTS 128u
#define PART_BYTES 80u /* of a name */

/* How the names of pins begin; and the links, of which the scheduler's is pinned last. */
#define PROGRAM "program-"
#define MAP "map-"
#define SCHEDULER "link-scheduler"
#define SWITCHES "link-switches"

_Static_assert(sizeof(struct hp_record) == RECORD_BYTES, "a record as trace files have it");
_Static_assert(SERVER_LIMIT <= LX_SERVERS, "each server has a number in the kernel");

/* A program or map, as it is called where it is pinned. */
struct part {
    char name[PART_BYTES];
    int file;
};

static struct {
    const char *path;
    struct bpf_object *object; /* NULL: its parts were taken over, or there are none */
    struct part part[PARTS];
    uint32_t part_count;
    uint32_t locks;          /* that they are loaded for */
    int scheduler, switches; /* links, or -1 */
    const char *pins;        /* the folder of bpffs in which everything is pinned, or NULL */
    bool found;              /* something is there that kernel_start may go on with */
    struct lx_state *state;  /* mapped */
    unsigned char *rings;    /* mapped: one for each lock domain */
    size_t ring_bytes, rings_bytes;
    struct ring_buffer *wishes;
} kernel = {.scheduler = -1, .switches = -1};

static char problem[2048];

static const char *failed(const char *format, ...) __attribute__((format(printf, 1, 2)));
static const char *failed(const char *format, ...) {
    va_list arguments;

    va_start(arguments, format);
    vsnprintf(problem, sizeof(problem), format, arguments);
    va_end(arguments);
    return problem;
}

/* The last lines of what the verifier said of a program that it refuses, and the very last, which
 * is the reason. */
#define REASON_LINES 20u
#define REASON_END "\nprocessed "
static char reason[512];

/* Cuts a text where its last lines begin. */
static char *last_lines(char *text, unsigned int lines) {
    char *at = text + strlen(text);

    while (at > text && (at[-1] != '\n' || at[0] == 0 || --lines > 0))
        at--;
    return at;
}

/* What libbpf and the kernel's verifier say goes to the log. */
static int say_of_libbpf(enum libbpf_print_level level, const char *format, va_list arguments) {
    char *text, *line, *rest = NULL;

    if (level == LIBBPF_DEBUG || vasprintf(&text, format, arguments) < 0)
        return 0;
    char *end = strstr(text, REASON_END);
    if (end != NULL) {
        *end = 0;
        snprintf(reason, sizeof(reason), "%s", last_lines(text, 1));
        *end = '\n';
    }
    for (line = strtok_r(last_lines(text, REASON_LINES), "\n", &rest); line != NULL;
         line = strtok_r(NULL, "\n", &rest))
        say(level == LIBBPF_WARN ? LOG_WARNING : LOG_INFO, "%s", line);
    free(text);
    return 0;
}

/* What the kernel says in its log of the class of this scheduler, from here on. */
static int listen_to_kernel(void) {
    const int log = open("/dev/kmsg", O_RDONLY | O_NONBLOCK | O_CLOEXEC);

    if (log >= 0)
        lseek(log, 0, SEEK_END);
    return log;
}

/* The last of it, in its own words, or "". */
static const char *heard(int log) {
    static const char class[] = "sched_ext: ";
    static char words[256];
    char record[8192]; /* the longest that there is */
    ssize_t length;

    words[0] = 0;
    while (log >= 0 && ((length = read(log, record, sizeof(record) - 1)) > 0 || errno == EPIPE)) {
        record[length > 0 ? length : 0] = 0;
        const char *said = strstr(record, class);
        if (said != NULL)
            snprintf(words, sizeof(words), "%.*s", (int)strcspn(said, "\n"), said);
    }
    if (log >= 0)
        close(log);
    return words;
}

/* --- loading --------------------------------------------------------------------------------- */

static const char *load(uint32_t locks);

const char *kernel_open(const char *object, uint32_t locks, bool *lacks) {
    *lacks = true;
    if (access(SCHED_EXT "/state", R_OK) != 0)
        return "kernel: found no " SCHED_EXT ", allowed: Linux 6.16 or later with "
               "CONFIG_SCHED_CLASS_EXT";
    if (access(object, R_OK) != 0)
        return failed("--object: found no file '%s', allowed: what `make -f "
                      "hosts/linux/daemon/Makefile install` puts there",
                      object);
    libbpf_set_print(say_of_libbpf);
    kernel.path = object;
    *lacks = false;
    return locks > 0 && kernel.part_count == 0 ? load(locks) : NULL;
}

/* Keeps a program or map by its name. In bpffs no name has a dot. */
static void add_part(const char *kind, const char *name, int file) {
    struct part *part = &kernel.part[kernel.part_count];

    if (kernel.part_count == PARTS)
        return;
    kernel.part_count++;
    snprintf(part->name, sizeof(part->name), "%s%s", kind, name);
    for (char *dot = part->name; (dot = strchr(dot, '.')) != NULL;)
        *dot = '_';
    part->file = file;
}

/* The file of the part with this name, or -1. */
static int part_called(const char *kind, const char *name) {
    const size_t length = strlen(kind);

    for (uint32_t i = 0; i < kernel.part_count; i++)
        if (strncmp(kernel.part[i].name, kind, length) == 0
            && strcmp(kernel.part[i].name + length, name) == 0)
            return kernel.part[i].file;
    return -1;
}

/* Maps a map of the kernel into this process. */
static void *map(const char *name, size_t bytes) {
    void *at = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, part_called(MAP, name), 0);

    return at == MAP_FAILED ? NULL : at;
}

static size_t whole_pages(size_t bytes) {
    const size_t page = (size_t)sysconf(_SC_PAGESIZE);

    return (bytes + page - 1) / page * page;
}

/* A section is a map whose name begins as that of the object does. */
static struct bpf_map *section(const char *ending) {
    struct bpf_map *each;

    bpf_object__for_each_map(each, kernel.object) {
        const char *name = bpf_map__name(each);
        if (strstr(name, ending) != NULL)
            return each;
    }
    return NULL;
}

/* The wish that was read last. Negative, so that no other is read with it. */
static struct lx_wish taken;

static int take_wish(void *context, void *wish, size_t bytes) {
    (void)context;
    if (bytes < sizeof(taken))
        return -EINVAL;
    memcpy(&taken, wish, sizeof(taken));
    return -EAGAIN;
}

static struct bpf_map *map_called(const char *name) {
    return bpf_object__find_map_by_name(kernel.object, name);
}

/* Whether a structure of the kernel's has a member of this name. */
static bool has_member(const struct btf *types, const char *structure, const char *name) {
    const __s32 id = btf__find_by_name_kind(types, structure, BTF_KIND_STRUCT);
    const struct btf_type *type = id < 0 ? NULL : btf__type_by_id(types, (__u32)id);

    for (__u32 i = 0; type != NULL && i < btf_vlen(type); i++)
        if (strcmp(btf__name_by_offset(types, btf_members(type)[i].name_off), name) == 0)
            return true;
    return false;
}

/* Leaves out the operations that this kernel does not know. */
static const char *leave_out(void) {
    static const char operations[] = "sched_ext_ops";
    const struct btf *ours = bpf_object__btf(kernel.object);
    const __s32 id = btf__find_by_name_kind(ours, operations, BTF_KIND_STRUCT);
    unsigned char *table = bpf_map__initial_value(map_called("hyperperiod_ops"), NULL);
    struct btf *types = btf__load_vmlinux_btf();

    if (id < 0 || table == NULL || types == NULL) {
        btf__free(types);
        return failed("kernel: its types cannot be read (%s)", strerror(errno));
    }
    const struct btf_type *type = btf__type_by_id(ours, (__u32)id);
    for (__u32 i = 0; i < btf_vlen(type); i++) {
        const struct btf_member *member = &btf_members(type)[i];
        if (!btf_is_ptr(btf__type_by_id(ours, member->type))
            || has_member(types, operations, btf__name_by_offset(ours, member->name_off)))
            continue;
        struct bpf_program **program = (void *)(table + btf_member_bit_offset(type, i) / 8);
        if (*program != NULL)
            bpf_program__set_autoload(*program, false);
        *program = NULL;
    }
    btf__free(types);
    return NULL;
}

/* On PREEMPT_RT entries are fetched in a thread of the kernel's, and a few at a time: whoever adds
 * more than these at once would be refused. So all are there from the beginning. */
static void fetch_entries(void) {
    struct bpf_map *each;

    bpf_object__for_each_map(each, kernel.object) {
        if (bpf_map__type(each) == BPF_MAP_TYPE_HASH)
            bpf_map__set_map_flags(each, bpf_map__map_flags(each) & ~(uint32_t)BPF_F_NO_PREALLOC);
    }
}

/* Maps what is to be read and written here. */
static bool map_parts(uint32_t locks) {
    kernel.ring_bytes = (sizeof(struct lx_ring) + 7) / 8 * 8;
    kernel.rings_bytes = whole_pages(kernel.ring_bytes * locks);
    kernel.rings = map("rings", kernel.rings_bytes);
    kernel.state = map("_data_state", whole_pages(sizeof(*kernel.state)));
    kernel.wishes = ring_buffer__new(part_called(MAP, "wishes"), take_wish, NULL, NULL);
    kernel.locks = locks;
    return kernel.rings != NULL && kernel.state != NULL && kernel.wishes != NULL;
}

/* A number of what is in a file (FNV-1a), by which one build is told from another. */
static uint32_t build_of(const char *path) {
    uint32_t build = 2166136261u;
    FILE *file = fopen(path, "re");
    int byte;

    while (file != NULL && (byte = getc_unlocked(file)) != EOF)
        build = (build ^ (uint32_t)byte) * 16777619u;
    if (file != NULL)
        fclose(file);
    return build;
}

static const char *load(uint32_t locks) {
    struct bpf_map *domains, *rings, *by_threads, *map_of;
    struct bpf_program *program;
    const uint32_t needed = enders_are_needed();
    const char *why;

    kernel.object = bpf_object__open_file(kernel.path, NULL);
    if (kernel.object == NULL)
        return failed("%s: found no BPF object that can be read (%s)", kernel.path,
                      strerror(errno));
    domains = map_called("lock_domains");
    rings = map_called("rings");
    by_threads = section(".rodata.by_threads");
    if (domains == NULL || rings == NULL || by_threads == NULL
        || bpf_map__set_initial_value(by_threads, &needed, sizeof(needed)) != 0)
        return failed("%s: found another BPF object, allowed: hosts/linux/hyperperiod.bpf.c",
                      kernel.path);
    why = leave_out();
    if (why != NULL)
        return why;
    bpf_program__set_autoload(bpf_object__find_program_by_name(kernel.object, ENDER), needed);
    if (needed)
        fetch_entries();
    bpf_map__set_max_entries(domains, locks);
    bpf_map__set_max_entries(rings, locks);
    reason[0] = 0;
    if (bpf_object__load(kernel.object) != 0)
        return failed("kernel: the programs cannot be loaded (%s)%s%s; the log has more",
                      strerror(errno), reason[0] != 0 ? ": " : "", reason);
    bpf_object__for_each_map(map_of, kernel.object)
        add_part(MAP, bpf_map__name(map_of), bpf_map__fd(map_of));
    bpf_object__for_each_program(program, kernel.object) {
        if (bpf_program__autoload(program))
            add_part(PROGRAM, bpf_program__name(program), bpf_program__fd(program));
    }
    if (!map_parts(locks))
        return failed("kernel: the rings cannot be mapped (%s)", strerror(errno));
    if (kernel.state->layout != LX_LAYOUT)
        return failed("%s: found layout %u, allowed: %u, that of this daemon", kernel.path,
                      kernel.state->layout, LX_LAYOUT);
    kernel.state->build = build_of(kernel.path);
    return NULL;
}

void kernel_close(void) {
    kernel_stop();
    for (uint32_t i = 0; i < kernel.part_count && kernel.object == NULL; i++)
        close(kernel.part[i].file);
    kernel.part_count = 0;
    if (kernel.state != NULL)
        munmap(kernel.state, whole_pages(sizeof(*kernel.state)));
    if (kernel.rings != NULL)
        munmap(kernel.rings, kernel.rings_bytes);
    ring_buffer__free(kernel.wishes);
    bpf_object__close(kernel.object);
    kernel.wishes = NULL;
    kernel.state = NULL;
    kernel.rings = NULL;
    kernel.object = NULL;
    kernel.locks = 0;
}

/* --- requests -------------------------------------------------------------------------------- */

/* Runs a program of the kernel's half. */
static const char *request(const char *name, void *context, size_t bytes) {
    const int program = part_called(PROGRAM, name);
    LIBBPF_OPTS(bpf_test_run_opts, options, .ctx_in = context, .ctx_size_in = (__u32)bytes);

    if (program < 0)
        return failed("%s: found no program %s", kernel.path, name);
    if (bpf_prog_test_run_opts(program, &options) != 0)
        return failed("kernel: %s cannot be run (%s)", name, strerror(errno));
    const int result = (int)options.retval;
    if (result > 0)
        return refusal((enum hp_error)result);
    if (result < 0)
        return failed("kernel: %s failed (%s)", name, strerror(-result));
    return NULL;
}

static uint32_t id_of(const struct server *server) {
    return LX_ID(server->lock, server->number);
}

/* What the kernel is given for a server. */
static struct lx_set set_of(const struct server *server) {
    return (struct lx_set){
        .server = id_of(server),
        .inside = server->inside,
        .priority = server->params.priority,
        .flags = server->params.flags,
        .weight = server->params.weight,
        .period_ns = server->params.period_ns,
        .budget_ns = server->params.budget_ns,
        .cpus = server->cpus,
    };
}

static const char *set(const struct server *server) {
    struct lx_set to = set_of(server);

    return request("lx_set", &to, sizeof(to));
}

const char *kernel_add(const struct system *system, uint32_t server) {
    return set(&system->server[server]);
}

const char *kernel_change(const struct system *system, uint32_t server) {
    return set(&system->server[server]);
}

const char *kernel_remove(const struct system *system, uint32_t server) {
    struct lx_name name = {.server = id_of(&system->server[server])};

    return request("lx_remove", &name, sizeof(name));
}

static struct lx_policy rules(const struct system *system) {
    const struct hp_policy *policy = &system->config.policy;

    return (struct lx_policy){policy->budget, policy->order, policy->slack};
}

const char *kernel_swap(const struct system *system) {
    for (uint32_t lock = 0; lock < lock_domains(system); lock++) {
        struct lx_swap swap = {.lock = lock, .policy = rules(system)};
        const char *why = request("lx_swap", &swap, sizeof(swap));
        if (why != NULL)
            return why;
    }
    return NULL;
}

/* --- members --------------------------------------------------------------------------------- */

uint64_t kernel_cgroup(const char *path) {
    struct statfs system;
    struct stat folder;

    if (statfs(path, &system) != 0 || stat(path, &folder) != 0
        || (unsigned long)system.f_type != CGROUP2_SUPER_MAGIC || !S_ISDIR(folder.st_mode))
        return 0;
    return folder.st_ino;
}

DIR *kernel_folder(const char *path) {
    return opendir(path);
}

/* A cgroup that is not there is told when it is. */
static bool is_absent(const struct member *member) {
    return member->id == 0;
}

static const char *refresh(uint32_t server) {
    struct lx_name name = {.server = server};

    return request("lx_refresh", &name, sizeof(name));
}

static const char *enter(const struct system *system, const struct member *member) {
    const uint32_t server = id_of(&system->server[member->server]);
    const struct lx_thread thread = {
        .server = server, .whole = member->kind == BY_PROCESS, .key = member->key};
    const uint32_t id = (uint32_t)member->id;
    const int error =
        member->kind == BY_CGROUP
            ? bpf_map_update_elem(part_called(MAP, "server_of_cgroup"), &member->id, &server, 0)
            : bpf_map_update_elem(part_called(MAP, "server_of_thread"), &id, &thread, 0);

    return error == 0 ? NULL : failed("kernel: the member cannot be kept (%s)", strerror(-error));
}

/* Whether the kernel's half is to know this id of a cgroup, or of a thread or process. */
static bool is_member(const struct system *system, uint64_t id, bool is_cgroup) {
    for (uint32_t i = 0; i < system->member_count; i++)
        if (system->member[i].id == id && (system->member[i].kind == BY_CGROUP) == is_cgroup)
            return true;
    return false;
}

/* Forgets members that are none now. */
static void forget_others(const struct system *system, const char *name, bool is_cgroup) {
    const int members = part_called(MAP, name);
    uint64_t id = 0, next = 0;
    bool more = bpf_map_get_next_key(members, NULL, &id) == 0;

    while (more) {
        more = bpf_map_get_next_key(members, &id, &next) == 0;
        if (!is_member(system, id, is_cgroup))
            bpf_map_delete_elem(members, &id);
        id = next;
    }
}

/* The kernel's half knows the members of this system, and none that another one had. */
static const char *enter_members(const struct system *system) {
    const char *why = NULL;

    forget_others(system, "server_of_cgroup", true);
    forget_others(system, "server_of_thread", false);
    for (uint32_t i = 0; i < system->member_count && why == NULL; i++)
        if (!is_absent(&system->member[i]))
            why = enter(system, &system->member[i]);
    return why;
}

const char *kernel_attach(const struct system *system, const struct member *member) {
    const char *why = is_absent(member) ? NULL : enter(system, member);

    return why != NULL ? why : refresh(id_of(&system->server[member->server]));
}

/* That the kernel does not have it any more is no fault: it forgets threads that end. */
const char *kernel_detach(const struct system *system, const struct member *member) {
    const uint32_t id = (uint32_t)member->id;

    if (member->kind == BY_CGROUP)
        bpf_map_delete_elem(part_called(MAP, "server_of_cgroup"), &member->id);
    else
        bpf_map_delete_elem(part_called(MAP, "server_of_thread"), &id);
    return refresh(id_of(&system->server[member->server]));
}

/* --- the scheduler as a whole ---------------------------------------------------------------- */

uint64_t kernel_clock_ns(void) {
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * NS_PER_S + (uint64_t)now.tv_nsec;
}

/* The first of the cpus that share the last cache with this one. A cpu that is offline has none to
 * tell of, and counts as the first cpu does. */
static uint32_t first_with_cache_of(uint32_t cpu) {
    for (uint32_t level = CACHE_LEVELS; level-- > 0;) {
        char path[96];
        unsigned int first = 0;
        int found;

        snprintf(path, sizeof(path), CACHES, cpu, level);
        FILE *file = fopen(path, "re");
        if (file == NULL)
            continue;
        found = fscanf(file, "%u", &first);
        fclose(file);
        return found == 1 && first < LX_CPUS ? first : 0;
    }
    return 0;
}

static void fill_caches(struct lx_state *state) {
    uint32_t number_of[LX_CPUS] = {0}; /* of the cache of which this cpu is the first; 0: none */
    const long cpus = sysconf(_SC_NPROCESSORS_CONF);

    state->caches = 0;
    for (uint32_t cpu = 0; cpu < LX_CPUS && cpu < cpus; cpu++) {
        uint32_t *number = &number_of[first_with_cache_of(cpu)];

        if (*number == 0)
            *number = ++state->caches;
        state->cache_of[cpu] = (*number - 1) % LX_CACHES;
    }
    if (state->caches > LX_CACHES)
        state->caches = LX_CACHES;
}

static void fill_state(const struct system *system, uint64_t epoch_ns) {
    struct lx_state *state = kernel.state;

    state->base_ns = epoch_ns != 0 ? epoch_ns : kernel_clock_ns();
    state->exit_kind = 0;
    state->exit_reason[0] = 0;
    state->exit_text[0] = 0;
    state->parked = 0;
    state->strays = 0;
    state->global = system->global;
    state->recording = system->recording;
    state->places = (unsigned int)__builtin_popcountll(system->cpus);
    for (uint32_t cpu = 0; cpu < LX_CPUS; cpu++)
        state->place_of[cpu] = LX_NOBODY;
    for (uint32_t place = 0; place < state->places; place++) {
        state->cpu_at[place] = cpu_at(system, place);
        state->place_of[state->cpu_at[place]] = place;
    }
    fill_caches(state);
}

static const char *tell_all(const struct system *system) {
    const struct hp_config *config = &system->config;
    const char *why = NULL;

    for (uint32_t lock = 0; lock < lock_domains(system) && why == NULL; lock++) {
        struct lx_start start = {
            .lock = lock,
            .policy = rules(system),
            .quantum_ns = config->quantum_ns,
            .decision_ns = config->decision_ns,
            .spare_period_ns = config->spare_period_ns,
            .spare_budget_ns = config->spare_budget_ns,
        };
        why = request("lx_start", &start, sizeof(start));
    }
    for (uint32_t i = 0; i < SERVER_LIMIT && why == NULL; i++)
        if (system->server[i].present)
            why = set(&system->server[i]);
    return why != NULL ? why : enter_members(system);
}

/* The scheduler that is in force, or "" if it is the kernel's own. */
static void find_other(char *name, size_t bytes) {
    FILE *file = fopen(SCHEDULER_NAME, "re");

    name[0] = 0;
    if (file == NULL)
        return;
    if (fgets(name, (int)bytes, file) != NULL)
        name[strcspn(name, "\n")] = 0;
    fclose(file);
}

/* What there is instead of what the kernel refuses. */
static const char *allowed_instead(const char *words) {
    return strstr(words, "isolcpus") == NULL
               ? ""
               : "; allowed: cpus of a cpuset partition, and none of isolcpus= (docs/linux/"
                 "running.md)";
}

/* The link of the scheduler: of an object its table of operations is given to the kernel before. */
static int link_scheduler(void) {
    if (kernel.object == NULL)
        return bpf_link_create(part_called(MAP, "hyperperiod_ops"), 0, BPF_STRUCT_OPS, NULL);
    struct bpf_link *link = bpf_map__attach_struct_ops(map_called("hyperperiod_ops"));
    const int file = link == NULL ? -1 : fcntl(bpf_link__fd(link), F_DUPFD_CLOEXEC, 0);
    const int error = errno;

    bpf_link__destroy(link);
    errno = error;
    return file;
}

static const char *put_in_force(void) {
    char other[64];

    find_other(other, sizeof(other));
    if (other[0] != 0)
        return failed("kernel: found the scheduler '%s' in force, allowed: none but the kernel's "
                      "own",
                      other);
    const int log = listen_to_kernel();
    kernel.switches =
        bpf_link_create(part_called(PROGRAM, "hyperperiod_switch"), 0, BPF_TRACE_RAW_TP, NULL);
    if (kernel.switches >= 0)
        kernel.scheduler = link_scheduler();
    const int error = errno;
    const char *words = heard(log);
    if (kernel.scheduler < 0)
        return failed("kernel: the scheduler cannot be put in force (%s) %s%s", strerror(error),
                      words, allowed_instead(words));
    /* What its programs refuse at the start is no error of the call. */
    if (!kernel.state->attached)
        return failed("kernel: the scheduler cannot be put in force: %.100s %.400s",
                      kernel.state->exit_reason, kernel.state->exit_text);
    return NULL;
}

/* --- what outlives the daemon ------------------------------------------------------------------
 */

/* The path of a pin. */
static const char *pin_of(const char *name) {
    static char path[512];

    snprintf(path, sizeof(path), "%s/%s", kernel.pins, name);
    return path;
}

/* The link of the scheduler first, without which the others are nothing. */
static void unpin_all(void) {
    DIR *folder = kernel.pins == NULL ? NULL : opendir(kernel.pins);
    const struct dirent *entry;

    if (folder == NULL)
        return;
    unlink(pin_of(SCHEDULER));
    while ((entry = readdir(folder)) != NULL)
        unlink(pin_of(entry->d_name));
    closedir(folder);
}

/* The link of the scheduler last, with which the others are all there. */
static void pin_all(void) {
    bool done = true;

    if (kernel.pins == NULL)
        return;
    for (uint32_t i = 0; i < kernel.part_count && done; i++)
        done = bpf_obj_pin(kernel.part[i].file, pin_of(kernel.part[i].name)) == 0;
    done = done && bpf_obj_pin(kernel.switches, pin_of(SWITCHES)) == 0
           && bpf_obj_pin(kernel.scheduler, pin_of(SCHEDULER)) == 0;
    if (done)
        return;
    say(LOG_WARNING,
        "--keep: %s: nothing can be pinned there (%s): the system ends with the daemon",
        kernel.pins, strerror(errno));
    unpin_all();
}

/* Opens all that is pinned, if that is all there is of this layout; or nothing. */
static bool open_pins(void) {
    DIR *folder = opendir(kernel.pins);
    struct bpf_map_info info = {0};
    __u32 bytes = sizeof(info);
    const struct dirent *entry;

    while (folder != NULL && (entry = readdir(folder)) != NULL) {
        const int file = *entry->d_name == '.' ? -1 : bpf_obj_get(pin_of(entry->d_name));
        if (strcmp(entry->d_name, SCHEDULER) == 0)
            kernel.scheduler = file;
        else if (strcmp(entry->d_name, SWITCHES) == 0)
            kernel.switches = file;
        else if (file >= 0)
            add_part("", entry->d_name, file);
    }
    if (folder != NULL)
        closedir(folder);
    if (kernel.scheduler < 0)
        return false;
    if (bpf_map_get_info_by_fd(part_called(MAP, "_data_state"), &info, &bytes) != 0
        || info.value_size != sizeof(struct lx_state)
        || bpf_map_get_info_by_fd(part_called(MAP, "lock_domains"), &info, &bytes) != 0
        || !map_parts(info.max_entries) || kernel.state->layout != LX_LAYOUT) {
        say(LOG_WARNING,
            "%s: found what a daemon with another layout than %u has left: it ends, and what "
            "was asked for is put in force anew",
            kernel.pins, LX_LAYOUT);
        return false;
    }
    return true;
}

void kernel_keep(const char *folder, bool known) {
    struct statfs system;

    libbpf_set_print(say_of_libbpf);
    if (enders_are_needed()) {
        say(LOG_NOTICE, "--keep: the system ends with the daemon: on PREEMPT_RT threads of it "
                        "end grants");
        return;
    }
    mkdir(folder, 0700);
    const int lock = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (lock < 0 || fstatfs(lock, &system) != 0 || (unsigned long)system.f_type != BPF_FS_MAGIC
        || flock(lock, LOCK_EX | LOCK_NB) != 0) {
        say(LOG_WARNING,
            "--keep: found '%s', allowed: a folder of bpffs that no other daemon has; the system "
            "ends with the daemon",
            folder);
        return;
    }
    kernel.pins = folder;
    kernel.found = open_pins() && known;
    if (!kernel.found)
        kernel_close();
}

/* Whether the same cpus are managed. */
static bool has_its_cpus(const struct system *system) {
    for (uint32_t cpu = 0; cpu < LX_CPUS; cpu++)
        if ((kernel.state->place_of[cpu] != LX_NOBODY) != (system->cpus >> cpu & 1u))
            return false;
    return kernel.state->global == system->global;
}

/* The server of this id, or NULL. */
static const struct server *server_of(const struct system *system, uint32_t id) {
    for (uint32_t i = 0; i < SERVER_LIMIT; i++)
        if (system->server[i].present && id_of(&system->server[i]) == id)
            return &system->server[i];
    return NULL;
}

/* The kernel's half has the servers and rules that were asked for: a request that the daemon before
 * died at may be done there in part, and is taken back. */
static const char *mend_servers(const struct system *system) {
    const struct lx_policy asked = rules(system);
    const char *why = NULL;

    for (uint32_t id = 0; id < LX_ID(lock_domains(system), 0) && why == NULL; id++) {
        const struct server *server = server_of(system, id);
        const struct lx_set to = server != NULL ? set_of(server) : (struct lx_set){0};
        struct lx_look look = {.server = id};
        struct lx_name gone = {.server = id};
        why = request("lx_look", &look, sizeof(look));
        if (why == NULL && LX_NUMBER_OF(id) == 0
            && memcmp(&look.policy, &asked, sizeof(asked)) != 0) {
            struct lx_swap swap = {.lock = LX_LOCK_OF(id), .policy = asked};
            why = request("lx_swap", &swap, sizeof(swap));
        }
        if (why == NULL && look.present && server == NULL)
            why = request("lx_remove", &gone, sizeof(gone));
        else if (why == NULL && server != NULL
                 && (!look.present || memcmp(&look.asked, &to, sizeof(to)) != 0))
            why = set(server);
    }
    return why;
}

/* Whether what was found in force goes on as this system, without a gap. */
static bool goes_on(const struct system *system) {
    const char *why = NULL;

    kernel.found = false;
    if (!kernel.state->attached || !has_its_cpus(system))
        return false;
    kernel.state->recording = system->recording;
    why = mend_servers(system);
    if (why == NULL)
        why = enter_members(system);
    if (why == NULL)
        why = refresh(0);
    if (why != NULL) {
        say(LOG_WARNING, "what was in force cannot be taken over: %s; it ends", why);
        return false;
    }
    say(LOG_NOTICE, "taken over: servers have gone on without a gap%s",
        kernel.state->build == build_of(kernel.path)
            ? ""
            : "; programs of another build than that of --object, which the next start loads");
    return true;
}

const char *kernel_load(const struct system *system) {
    const bool is_ours = kernel.object != NULL || kernel.part_count == 0;

    if (kernel.locks >= lock_domains(system)
        && (is_ours || kernel.state->build == build_of(kernel.path)))
        return NULL;
    kernel_close();
    return load(lock_domains(system));
}

const char *kernel_start(const struct system *system, uint64_t epoch_ns) {
    if (kernel.found && goes_on(system))
        return NULL;
    kernel_stop();
    const char *why = kernel_load(system);

    if (why != NULL)
        return why;
    fill_state(system, epoch_ns);
    why = tell_all(system);
    if (why == NULL && enders_are_needed())
        why = enders_start(kernel.object, system);
    if (why == NULL)
        why = put_in_force();
    if (why != NULL)
        kernel_stop();
    else
        pin_all();
    return why;
}

/* The scheduler ends at once; a link that is only given back is so at some later time. */
void kernel_stop(void) {
    kernel.found = false;
    if (kernel.scheduler >= 0) {
        bpf_link_detach(kernel.scheduler);
        close(kernel.scheduler);
    }
    if (kernel.switches >= 0)
        close(kernel.switches);
    kernel.scheduler = -1;
    kernel.switches = -1;
    enders_stop();
    unpin_all();
}

int kernel_wishes(void) {
    return kernel.wishes == NULL ? -1 : ring_buffer__epoll_fd(kernel.wishes);
}

bool kernel_wish(struct lx_wish *wish) {
    const bool found = kernel.wishes != NULL && ring_buffer__consume(kernel.wishes) == -EAGAIN;

    if (found)
        *wish = taken;
    return found;
}

uint64_t kernel_cpus(void) {
    static const struct word_key set = {.kind = WORD_CPUS};
    FILE *file = fopen(CPUS, "re");
    char list[1024] = "";
    hp_u64 cpus;

    if (file == NULL)
        return ~0ull;
    if (fgets(list, sizeof(list), file) != NULL)
        list[strcspn(list, "\n")] = 0;
    fclose(file);
    /* Where there are more than can be named, all that can be are there. */
    return word_value(&set, word_of(list), &cpus) ? cpus : ~0ull;
}

bool kernel_runs(struct text *why) {
    if (kernel.scheduler >= 0 && kernel.state->attached)
        return true;
    char text[256];

    /* It begins with the name of a thread, which is its user's. */
    snprintf(text, sizeof(text), "%.100s %.150s", kernel.state->exit_reason,
             kernel.state->exit_text);
    for (char *at = text; *at != 0; at++)
        if (*at < ' ' || *at > '~')
            *at = '.';
    add(why, "%s", text);
    return false;
}

void kernel_record(bool on) {
    if (kernel.state != NULL)
        kernel.state->recording = on;
}

const struct lx_state *kernel_state(void) {
    return kernel.state;
}

bool kernel_look(const struct system *system, uint32_t server, struct lx_look *look) {
    *look = (struct lx_look){.server = id_of(&system->server[server])};
    return kernel.state != NULL && request("lx_look", look, sizeof(*look)) == NULL && look->present;
}

bool kernel_spent(uint32_t number, struct spent *spent) {
    const size_t kind = sizeof(PROGRAM) - 1;
    struct bpf_prog_info info = {0};
    __u32 bytes = sizeof(info);
    uint32_t at = 0;

    for (uint32_t left = number + 1; at < kernel.part_count; at++)
        if (strncmp(kernel.part[at].name, PROGRAM, kind) == 0 && --left == 0)
            break;
    if (at == kernel.part_count)
        return false;
    *spent = (struct spent){.name = kernel.part[at].name + kind};
    if (bpf_prog_get_info_by_fd(kernel.part[at].file, &info, &bytes) == 0) {
        spent->runs = info.run_cnt;
        spent->ns = info.run_time_ns;
    }
    return true;
}

/* --- rings ----------------------------------------------------------------------------------- */

static bool write_all(int file, const void *bytes, size_t length) {
    while (length > 0) {
        const ssize_t done = write(file, bytes, length);
        if (done <= 0)
            return false;
        bytes = (const char *)bytes + done;
        length -= (size_t)done;
    }
    return true;
}

/* A ring's head and those records that were written, in the places where they are. */
static bool write_ring(int file, uint32_t lock) {
    const struct lx_ring *ring = (const void *)(kernel.rings + kernel.ring_bytes * lock);
    struct hp_ring head = {
        .magic = HP_RING_MAGIC,
        .header_bytes = sizeof(head),
        .record_bytes = RECORD_BYTES,
        .capacity = LX_RECORDS,
        .written = __atomic_load_n(&ring->head.written, __ATOMIC_ACQUIRE),
        .frequency_hz = NS_PER_S,
        .epoch_ticks = kernel.state->base_ns,
        .source = lock,
        .flags = ring->head.flags,
    };
    const uint64_t kept = head.written < LX_RECORDS ? head.written : LX_RECORDS;

    return write_all(file, &head, sizeof(head))
           && write_all(file, ring->records, kept * RECORD_BYTES);
}

int kernel_rings(const struct system *system) {
    const int seals = F_SEAL_WRITE | F_SEAL_GROW | F_SEAL_SHRINK | F_SEAL_SEAL;
    const int file = memfd_create("rings", MFD_CLOEXEC | MFD_ALLOW_SEALING);
    bool written = file >= 0 && kernel.state != NULL;

    written = written && lock_domains(system) <= kernel.locks;
    for (uint32_t lock = 0; lock < lock_domains(system) && written; lock++)
        written = write_ring(file, lock);
    if (written && lseek(file, 0, SEEK_SET) == 0 && fcntl(file, F_ADD_SEALS, seals) == 0)
        return file;
    if (file >= 0)
        close(file);
    return -1;
}
