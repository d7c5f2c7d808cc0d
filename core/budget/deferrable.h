// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * The deferrable rule (DS; under global EDF this is RTDS: ERTDS paper, section II.B).
 *
 * A server is refilled to full at every multiple of its period and charged only while its vcpu
 * runs. What is left when the work ends is kept until the end of the period and then lost in
 * the refill. Because a server may idle first, run at the end of its period and again at the
 * start of the next, it does not interfere like a periodic task: see docs/policies.
 *
 * Candidates are the servers with work and with budget, of their own or on an extra level. Refills
 * and charges are those of timed.h.
 *
 * A server of 3 ms in 10 ms has 5 ms of work from 8 ms on: it runs in [8, 10) on two of the three
 * that are left. The refill makes it three again, not four, and it runs on in [10, 13): 5 ms in a
 * row. With work again at 47 ms the refills of 20, 30 and 40 are caught up in one step: 3 ms
 * until 50.
 */
#pragma once

#include "timed.h"
