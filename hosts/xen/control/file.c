// SPDX-License-Identifier: BSD-2-Clause
/*
 * The file is read line by line: a section's head, "key = value", a comment, or nothing. Sections
 * may come in any order, and so may the keys of one. Nothing may be said twice.
 */
#include "file.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "pools.h"
#include "server.h"

#define VCPU_MAX 65535u
#define LONGEST_NAME 200u

/* What is being read: the line, and the section that it is in. */
struct reader {
    struct file file;
    unsigned int line;
    bool version_given;
    struct pool_part *pool;
    struct domain_part *domain;
    enum word_scope scope; /* of the pool */
    bool cpus_given;
};

static void *checked(void *memory) {
    if (memory == NULL)
        fail(LACKS, "no memory for the file");
    return memory;
}

static char *copy(const char *text) {
    return checked(strdup(text));
}

bool writable_name(const char *name) {
    size_t length = strlen(name);
    if (length == 0 || length > LONGEST_NAME || name[0] == ' ' || name[length - 1] == ' ')
        return false;
    for (; *name; name++)
        if ((unsigned char)*name < 0x20)
            return false;
    return true;
}

/* --- sections -------------------------------------------------------------------------------- */

/* What a pool must say, once its section is over. */
static void end_section(struct reader *reader) {
    struct pool_part *pool = reader->pool;
    struct domain_part *domain = reader->domain;
    unsigned int line = reader->line;
    reader->pool = NULL;
    reader->domain = NULL;
    if (pool != NULL) {
        set_place(reader->file.path, pool->line);
        if (pool->policy == NULL || !reader->cpus_given)
            fail(BAD_INPUT, "pool '%s': found no '%s'; a pool has a policy and cpus", pool->name,
                 pool->policy == NULL ? "policy" : "cpus");
        struct word_policy words = read_policy(word_of(pool->policy));
        pool->rules = words.rules;
        pool->global = is_global(&words, reader->scope, "scope");
        check_policy(pool->policy, pool->rules, pool->global);
    }
    if (domain != NULL && domain->pool_name == NULL) {
        set_place(reader->file.path, domain->line);
        fail(BAD_INPUT, "domain '%s': found no 'pool'; a domain is in one", domain->name);
    }
    reader->scope = WORD_SCOPE_any;
    reader->cpus_given = false;
    set_place(reader->file.path, line);
}

static void begin_pool(struct reader *reader, const char *name) {
    struct file *file = &reader->file;
    for (unsigned int i = 0; i < file->pool_count; i++)
        if (strcmp(file->pools[i].name, name) == 0)
            fail(BAD_INPUT, "[pool %s]: found it twice, first in line %u; allowed: once", name,
                 file->pools[i].line);
    file->pools = checked(realloc(file->pools, (file->pool_count + 1) * sizeof(*file->pools)));
    reader->pool = &file->pools[file->pool_count++];
    *reader->pool = (struct pool_part){.line = reader->line, .name = copy(name)};
}

static void begin_domain(struct reader *reader, const char *name) {
    struct file *file = &reader->file;
    for (unsigned int i = 0; i < file->domain_count; i++)
        if (strcmp(file->domains[i].name, name) == 0)
            fail(BAD_INPUT, "[domain %s]: found it twice, first in line %u; allowed: once", name,
                 file->domains[i].line);
    file->domains =
        checked(realloc(file->domains, (file->domain_count + 1) * sizeof(*file->domains)));
    reader->domain = &file->domains[file->domain_count++];
    *reader->domain = (struct domain_part){.line = reader->line, .name = copy(name)};
}

/* "[pool NAME]" or "[domain NAME]"; a name may hold a bracket, only the last one ends it. */
static void begin_section(struct reader *reader, char *text) {
    size_t length = strlen(text);
    bool pool = strncmp(text, "[pool ", 6) == 0, domain = strncmp(text, "[domain ", 8) == 0;
    char *name = text + (pool ? 6 : 8);
    if ((!pool && !domain) || text[length - 1] != ']')
        fail(BAD_INPUT, "found '%s'; allowed: [pool NAME] or [domain NAME]", text);
    text[length - 1] = 0;
    if (!writable_name(name))
        fail(BAD_INPUT, "found a section without a name; allowed: up to %u letters on one line",
             LONGEST_NAME);
    if (!reader->version_given)
        fail(BAD_INPUT, "found no version; allowed: 'version = %u' before the first section",
             FILE_VERSION);
    end_section(reader);
    if (pool)
        begin_pool(reader, name);
    else
        begin_domain(reader, name);
}

/* --- keys ------------------------------------------------------------------------------------ */

static void check_once(bool given, const char *key) {
    if (given)
        fail(BAD_INPUT, "%s: found it twice; allowed: once in a section", key);
}

static void take_version(struct reader *reader, const char *key, const char *value) {
    if (strcmp(key, "version") != 0)
        fail(BAD_INPUT, "found '%s' before any section; allowed: version", key);
    check_once(reader->version_given, key);
    if (read_number(word_of(value), key, UINT32_MAX) != FILE_VERSION)
        fail(BAD_INPUT, "version: found %s; allowed: %u, the version of this program's files",
             value, FILE_VERSION);
    reader->version_given = true;
}

static void take_pool_key(struct reader *reader, const char *key, const char *value) {
    struct pool_part *pool = reader->pool;
    if (strcmp(key, "policy") == 0) {
        check_once(pool->policy != NULL, key);
        pool->policy = copy(value);
        read_policy(word_of(value));
    } else if (strcmp(key, "scope") == 0) {
        check_once(reader->scope != WORD_SCOPE_any, key);
        reader->scope = read_scope(word_of(value), key);
    } else if (strcmp(key, "cpus") == 0) {
        check_once(reader->cpus_given, key);
        reader->cpus_given = true;
        if (strcmp(value, "none") != 0)
            read_pcpus(word_of(value), key, pool->pcpus);
    } else if (strcmp(key, "spare") == 0) {
        check_once(pool->spare_period_ns != 0, key);
        read_spare(word_of(value), key, &pool->spare_budget_ns, &pool->spare_period_ns);
    } else {
        fail(BAD_INPUT, "found '%s'; allowed in a pool: policy, scope, cpus, spare", key);
    }
}

static void take_vcpu(struct reader *reader, const char *key, uint32_t vcpu, const char *value) {
    struct domain_part *domain = reader->domain;
    for (unsigned int i = 0; i < domain->count; i++)
        check_once(domain->vcpus[i].vcpu == vcpu, key);
    domain->vcpus =
        checked(realloc(domain->vcpus, (domain->count + 1) * sizeof(*domain->vcpus)));
    domain->vcpus[domain->count++] = (struct vcpu_line){
        .line = reader->line,
        .vcpu = vcpu,
        .server = read_server(word_of(value), key),
    };
}

static void take_domain_key(struct reader *reader, const char *key, const char *value) {
    struct domain_part *domain = reader->domain;
    if (strcmp(key, "pool") == 0) {
        check_once(domain->pool_name != NULL, key);
        domain->pool_name = copy(value);
    } else if (strcmp(key, "others") == 0) {
        take_vcpu(reader, key, ALL_VCPUS, value);
    } else if (strncmp(key, "vcpu ", 5) == 0) {
        take_vcpu(reader, key, (uint32_t)read_number(word_of(key + 5), "vcpu", VCPU_MAX), value);
    } else {
        fail(BAD_INPUT, "found '%s'; allowed in a domain: pool, vcpu N, others", key);
    }
}

/* --- lines ----------------------------------------------------------------------------------- */

static char *without_blanks(char *text) {
    while (*text == ' ' || *text == '\t')
        text++;
    size_t length = strlen(text);
    while (length > 0 && strchr(" \t\r\n", text[length - 1]) != NULL)
        length--;
    text[length] = 0;
    return text;
}

static void take_line(struct reader *reader, char *text) {
    text = without_blanks(text);
    if (text[0] == 0 || text[0] == '#')
        return;
    if (text[0] == '[') {
        begin_section(reader, text);
        return;
    }
    char *value = strchr(text, '=');
    if (value == NULL)
        fail(BAD_INPUT, "found '%s'; allowed: [SECTION], KEY = VALUE, or # and a comment", text);
    *value++ = 0;
    text = without_blanks(text);
    value = without_blanks(value);
    if (value[0] == 0)
        fail(BAD_INPUT, "%s: found no value", text);
    if (reader->pool != NULL)
        take_pool_key(reader, text, value);
    else if (reader->domain != NULL)
        take_domain_key(reader, text, value);
    else
        take_version(reader, text, value);
}

static void read_lines(struct reader *reader, FILE *from) {
    char *text = NULL;
    size_t size = 0;
    ssize_t length;
    while ((length = getline(&text, &size, from)) >= 0) {
        set_place(reader->file.path, ++reader->line);
        if (strlen(text) != (size_t)length)
            fail(BAD_INPUT, "found a byte of value 0; allowed: text");
        take_line(reader, text);
    }
    free(text);
    if (ferror(from))
        fail(BAD_INPUT, "cannot be read: %s", strerror(errno));
    end_section(reader);
    if (!reader->version_given)
        fail(BAD_INPUT, "found no version; allowed: 'version = %u' before the first section",
             FILE_VERSION);
}

/* --- what is between sections ---------------------------------------------------------------- */

static void check_pools(const struct file *file) {
    for (unsigned int i = 0; i < file->pool_count; i++) {
        const struct pool_part *pool = &file->pools[i];
        set_place(file->path, pool->line);
        for (unsigned int k = 0; k < i; k++)
            for (uint32_t pcpu = 0; pcpu < MAX_PCPUS; pcpu++)
                if (has_pcpu(pool->pcpus, pcpu) && has_pcpu(file->pools[k].pcpus, pcpu))
                    fail(BAD_INPUT, "cpus: found pcpu %u in pool '%s' and in pool '%s'; allowed: "
                                    "in one",
                         pcpu, file->pools[k].name, pool->name);
    }
}

static void find_pools_of_domains(struct file *file) {
    for (unsigned int i = 0; i < file->domain_count; i++) {
        struct domain_part *domain = &file->domains[i];
        domain->pool = 0;
        while (domain->pool < file->pool_count
               && strcmp(file->pools[domain->pool].name, domain->pool_name) != 0)
            domain->pool++;
        set_place(file->path, domain->line);
        if (domain->pool == file->pool_count)
            fail(BAD_INPUT, "domain '%s': pool: found '%s'; allowed: one with a section of its own "
                            "in this file",
                 domain->name, domain->pool_name);
        if (strcmp(domain->name, "Domain-0") == 0 && strcmp(domain->pool_name, "Pool-0") != 0)
            fail(BAD_INPUT, "domain '%s': pool: found '%s'; allowed: Pool-0, dom0 stays there",
                 domain->name, domain->pool_name);
    }
}

struct file read_file(const char *path) {
    struct reader reader = {.file = {.path = path}};
    FILE *from = fopen(path, "r");
    if (from == NULL)
        fail(BAD_INPUT, "%s: cannot be read: %s", path, strerror(errno));
    read_lines(&reader, from);
    fclose(from);
    check_pools(&reader.file);
    find_pools_of_domains(&reader.file);
    set_place(NULL, 0);
    return reader.file;
}

void free_file(struct file *file) {
    for (unsigned int i = 0; i < file->pool_count; i++) {
        free(file->pools[i].name);
        free(file->pools[i].policy);
    }
    for (unsigned int i = 0; i < file->domain_count; i++) {
        free(file->domains[i].name);
        free(file->domains[i].pool_name);
        free(file->domains[i].vcpus);
    }
    free(file->pools);
    free(file->domains);
}

const struct vcpu_line *line_of(const struct domain_part *domain, uint32_t vcpu) {
    const struct vcpu_line *others = NULL;
    for (unsigned int i = 0; i < domain->count; i++) {
        if (domain->vcpus[i].vcpu == vcpu)
            return &domain->vcpus[i];
        if (domain->vcpus[i].vcpu == ALL_VCPUS)
            others = &domain->vcpus[i];
    }
    return others;
}

/* --- writing --------------------------------------------------------------------------------- */

void write_head(FILE *to) {
    fprintf(to, "# Pools and servers; `hyperperiod-xen apply FILE` brings them back.\n"
                "version = %u\n",
            FILE_VERSION);
}

void write_pool(FILE *to, const char *name, const struct pool *pool,
                const struct xen_sysctl_hyperperiod *info) {
    struct hp_policy rules = {info->budget, info->order, info->slack};
    fprintf(to, "\n[pool %s]\npolicy = %s\nscope = %s\ncpus = ", name,
            policy_text(rules, info->global), info->global ? "global" : "partitioned");
    print_pcpus(to, pool->pcpus);
    fprintf(to, "\n");
    if (info->spare_period_ns != 0) {
        fprintf(to, "spare = ");
        print_time(to, info->spare_budget_ns);
        fprintf(to, " in ");
        print_time(to, info->spare_period_ns);
        fprintf(to, "\n");
    }
}

void write_domain(FILE *to, const char *name, const char *pool_name) {
    fprintf(to, "\n[domain %s]\npool = %s\n", name, pool_name);
}

void write_vcpu(FILE *to, uint32_t vcpu, const struct xen_domctl_sched_hyperperiod *server) {
    if (vcpu == ALL_VCPUS)
        fprintf(to, "others = ");
    else
        fprintf(to, "vcpu %u = ", vcpu);
    print_server(to, server);
    fprintf(to, "\n");
}
