/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Reads values of a text of JSON, where they stand: a place in the text is a value.
 *
 * The text ends with a zero. It is not judged as a whole: what is looked for is found if everything
 * before it is JSON, and no reader goes beyond the zero whatever the text is.
 */
#ifndef HPCTL_JSON_H
#define HPCTL_JSON_H

#include <stdbool.h>
#include <stddef.h>

/* Returns the value of a key of an object, of several the first one; NULL: it is none, or has no
 * such key. `object` may be NULL. */
const char *json_value(const char *object, const char *key);

/* Returns the first value of an array, and the one behind another; NULL: there is none. `array` may
 * be NULL. */
const char *json_first(const char *array);
const char *json_next(const char *value);

/* Copies a string as a text, of at most so many bytes with the zero. False: it is no string, or too
 * long. Characters that were written as numbers above ASCII become '?'. `value` may be NULL. */
bool json_string(const char *value, char *text, size_t room);

/* Whether it is the word true, or the number that follows. */
bool json_true(const char *value);
bool json_number(const char *value, unsigned long long *number);

#endif
