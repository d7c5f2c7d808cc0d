// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * The deferrable rule (DS; under global EDF this is RTDS: ERTDS paper, section II.B).
 *
 * A server is refilled to full at every multiple of its period and charged only while its vcpu
 * runs. What is left when the work ends is kept until the end of the period and then lost in
 * the refill. Because a server may idle first, run at the end of its period and again at the
 * start of the next, it does not interfere like a periodic task: see docs/policies.
 *
 * Candidates are the servers with work and with budget, of their own or on an extra level.
 */
#pragma once

#include "timed.h"
