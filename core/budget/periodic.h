// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * The periodic rule (PTPS, and the base of WCPS and CRPS in the CSA paper, section III.A).
 *
 * A server is refilled to full at every multiple of its period. The first server in order that
 * has budget is charged as time passes, whether or not it has work: its budget idles away. So
 * who pays at any instant is fixed by periods, budgets and priorities alone.
 *
 * Candidates for a grant are therefore all servers with budget; the slack rule says who uses
 * the time of one that has no work. Refills and charges are those of timed.h.
 *
 * A server of 2 ms in 10 ms without work is granted the pcpu at 0 and pays; at 2 ms nothing is
 * left. Work that arrives at 3 ms waits for the refill and runs in [10, 12). Work of 3 ms that
 * arrives at 1 ms runs in [1, 2), and goes on at 10 ms.
 */
#pragma once

#include "timed.h"
