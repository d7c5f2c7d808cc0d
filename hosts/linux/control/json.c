// SPDX-License-Identifier: BSD-2-Clause
#include "json.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define BLANKS " \t\r\n"
#define HEX_DIGITS 4u
#define KEY_BYTES 256u
#define ASCII_END 0x80u

static const char *over(const char *at, const char *characters) {
    return at + strspn(at, characters);
}

/* What is behind the string at `at`, or NULL if it does not end. */
static const char *behind_string(const char *at) {
    for (at++; *at != 0 && *at != '"'; at++)
        if (*at == '\\' && at[1] != 0)
            at++;
    return *at == '"' ? at + 1 : NULL;
}

/* What is behind the value at `at`, or NULL if there is none. */
static const char *behind(const char *at) {
    unsigned int depth = 0;

    do {
        at = over(at, BLANKS ",:");
        if (*at == '"') {
            at = behind_string(at);
        } else if (*at == '{' || *at == '[') {
            depth++;
            at++;
        } else if (*at == '}' || *at == ']') {
            at = depth-- > 0 ? at + 1 : NULL;
        } else {
            const size_t length = strcspn(at, BLANKS ",:{}[]\"");
            at = length > 0 ? at + length : NULL;
        }
    } while (at != NULL && depth > 0);
    return at;
}

const char *json_value(const char *object, const char *key) {
    char name[KEY_BYTES];

    if (object == NULL || *object != '{')
        return NULL;
    for (const char *at = object + 1; at != NULL;) {
        at = over(at, BLANKS ",");
        if (*at != '"')
            return NULL;
        const bool is_key = json_string(at, name, sizeof(name)) && strcmp(name, key) == 0;
        at = behind_string(at);
        if (at == NULL)
            return NULL;
        at = over(at, BLANKS ":");
        if (is_key)
            return *at != 0 ? at : NULL;
        at = behind(at);
    }
    return NULL;
}

/* The value that begins here, unless an array or an object ends. */
static const char *begins(const char *at) {
    at = over(at, BLANKS ",");
    return *at == 0 || *at == ']' || *at == '}' ? NULL : at;
}

const char *json_first(const char *array) {
    return array != NULL && *array == '[' ? begins(array + 1) : NULL;
}

const char *json_next(const char *value) {
    const char *at = behind(value);

    return at != NULL ? begins(at) : NULL;
}

/* The character of an escape, of which `at` is what stands behind the backslash; *at moves to its
 * last byte. */
static char escaped(const char **at) {
    static const char names[] = "bfnrt", meant[] = "\b\f\n\r\t";
    const char *name = strchr(names, **at);
    char digits[HEX_DIGITS + 1] = "";
    char *end;

    if (**at != 'u')
        return name != NULL && *name != 0 ? meant[name - names] : **at;
    strncpy(digits, *at + 1, HEX_DIGITS);
    const unsigned long number = strtoul(digits, &end, 16);
    *at += end - digits;
    return number > 0 && number < ASCII_END ? (char)number : '?';
}

bool json_string(const char *value, char *text, size_t room) {
    size_t length = 0;

    if (value == NULL || *value != '"' || behind_string(value) == NULL)
        return false;
    for (const char *at = value + 1; *at != '"'; at++) {
        char one = *at;
        if (one == '\\') {
            at++;
            one = escaped(&at);
        }
        if (length + 1 >= room)
            return false;
        text[length++] = one;
    }
    text[length] = 0;
    return true;
}

bool json_true(const char *value) {
    return value != NULL && strncmp(value, "true", 4) == 0;
}

bool json_number(const char *value, unsigned long long *number) {
    char *end;

    if (value == NULL || *value < '0' || *value > '9')
        return false;
    errno = 0;
    *number = strtoull(value, &end, 10);
    return errno == 0;
}
