// SPDX-License-Identifier: BSD-2-Clause
#include "store.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <xenstore.h>

static struct xs_handle *store(void) {
    static struct xs_handle *handle;
    if (handle == NULL)
        handle = xs_open(0);
    return handle;
}

bool store_there(void) {
    return store() != NULL;
}

char *store_read(const char *path) {
    return store() == NULL ? NULL : xs_read(store(), XBT_NULL, path, NULL);
}

bool store_write(const char *path, const char *value) {
    return store() != NULL
           && xs_write(store(), XBT_NULL, path, value, (unsigned int)strlen(value));
}

void store_remove(const char *path) {
    if (store() != NULL)
        xs_rm(store(), XBT_NULL, path);
}

bool store_introduced(uint32_t domain) {
    return store() != NULL && xs_is_domain_introduced(store(), domain);
}

bool store_watch_domains(void) {
    return store() != NULL && xs_watch(store(), "@introduceDomain", "come")
           && xs_watch(store(), "@releaseDomain", "gone");
}

/* All that has been noticed by now counts as one: whoever waits looks at all domains anyway. */
bool store_wait(void) {
    unsigned int count;
    char **noticed = xs_read_watch(store(), &count);
    bool any = noticed != NULL;
    while (noticed != NULL) {
        free(noticed);
        noticed = xs_check_watch(store());
    }
    return any;
}
