/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The words of a command line (words/words.h, words/policies.h) in boot code, which Xen drops when
 * it has booted.
 */
#ifndef HYPERPERIOD_READ_H
#define HYPERPERIOD_READ_H

#include <xen/init.h>

#define WORDS_FN static __init __maybe_unused
#define WORDS_TABLE static const __maybe_unused

#include "environment.h"
#include "words/policies.h"

#endif /* HYPERPERIOD_READ_H */
