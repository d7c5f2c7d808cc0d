/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The core inside Xen: its assertions are Xen's, and so exist in debug builds only.
 */
#ifndef HYPERPERIOD_ENVIRONMENT_H
#define HYPERPERIOD_ENVIRONMENT_H

#include <xen/bug.h>
#include <xen/lib.h>

#define HP_ASSERT(condition) ({ ASSERT(condition); })

#include "core/hyperperiod.h"

#endif /* HYPERPERIOD_ENVIRONMENT_H */
