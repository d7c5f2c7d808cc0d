// SPDX-License-Identifier: BSD-2-Clause
#include "patterns.h"

#include <dirent.h>
#include <fnmatch.h>
#include <string.h>

#include "kernel.h"
#include "log.h"
#include "members.h"

/* A pattern on its way down. */
struct search {
    struct system *system;
    struct member *pattern;
    const char *why; /* a cgroup that matches cannot be a member */
};

static void drop(struct system *system, uint32_t place) {
    if (system->running)
        kernel_detach(system, &system->member[place]);
    system->member[place] = system->member[--system->member_count];
}

void drop_brought(struct system *system, uint32_t pattern) {
    for (uint32_t i = system->member_count; i > 0; i--)
        if (system->member[i - 1].brought == pattern)
            drop(system, i - 1);
}

/* Whether it stays as it is: attached by itself, or brought by a pattern that comes first. */
static bool is_settled(const struct member *there, const struct member *found) {
    return there->brought == 0 || there->brought < found->brought
           || (there->brought == found->brought && there->server == found->server);
}

/* A cgroup that matches becomes a member, unless it is one. */
static void take(struct search *search, const char *path) {
    struct system *system = search->system;
    struct member found = {
        .kind = BY_CGROUP,
        .server = search->pattern->server,
        .brought = search->pattern->pattern,
        .id = kernel_cgroup(path),
        .user = USERS_NONE,
        .key = LX_OWN,
    };

    strcpy(found.path, path);
    const uint32_t place = place_of(system, &found);
    if (found.id == 0
        || (place < system->member_count && is_settled(&system->member[place], &found)))
        return;
    const char *why = place == MEMBER_LIMIT ? "member: found 1024 already, allowed: so many"
                      : system->running     ? kernel_attach(system, &found)
                                            : NULL;
    if (why == NULL) {
        system->member[place] = found;
        system->member_count += place == system->member_count;
    } else {
        search->pattern->left_out++;
        search->why = why;
    }
}

/* Goes on with what is left of the pattern, below the path of so many bytes. */
static void look_below(struct search *search, char *path, size_t length, const char *rest) {
    char part[PATH_BYTES];
    const struct dirent *entry;

    if (*rest == 0) {
        take(search, path);
        return;
    }
    const size_t part_length = strcspn(++rest, "/");
    memcpy(part, rest, part_length);
    part[part_length] = 0;
    DIR *folder = is_pattern(part) ? kernel_folder(path) : NULL;
    if (!is_pattern(part) && length + part_length + 1 < PATH_BYTES) {
        path[length] = '/';
        strcpy(path + length + 1, part);
        look_below(search, path, length + 1 + part_length, rest + part_length);
    }
    while (folder != NULL && (entry = readdir(folder)) != NULL) {
        const size_t name_length = strlen(entry->d_name);
        if (entry->d_type != DT_DIR || strcmp(entry->d_name, ".") == 0
            || strcmp(entry->d_name, "..") == 0 || length + name_length + 1 >= PATH_BYTES
            || fnmatch(part, entry->d_name, FNM_NOESCAPE | FNM_EXTMATCH) != 0)
            continue;
        path[length] = '/';
        strcpy(path + length + 1, entry->d_name);
        look_below(search, path, length + 1 + name_length, rest + part_length);
    }
    path[length] = 0;
    if (folder != NULL)
        closedir(folder);
}

const char *bring(struct system *system, uint32_t place) {
    struct search search = {.system = system, .pattern = &system->member[place]};
    char path[PATH_BYTES] = "";

    search.pattern->left_out = 0;
    look_below(&search, path, 0, search.pattern->path);
    return search.why;
}

void renew_patterns(struct system *system) {
    for (uint32_t i = system->member_count; i > 0; i--) {
        const struct member *member = &system->member[i - 1];
        if (member->brought != 0 && kernel_cgroup(member->path) != member->id)
            drop(system, i - 1);
    }
    for (uint32_t i = 0; i < system->member_count; i++) {
        const struct member *pattern = &system->member[i];
        const uint32_t left_out = pattern->left_out;
        const char *why = pattern->pattern == 0 ? NULL : bring(system, i);
        if (why != NULL && left_out == 0)
            say(LOG_ERR, "%s: %u cgroups that match belong to nobody: %s", pattern->path,
                pattern->left_out, why);
    }
}
