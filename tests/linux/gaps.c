/* SPDX-License-Identifier: BSD-2-Clause
 *
 * gaps US: never sleeps for so long, and prints the longest time (us) that it was without the cpu,
 * and how much of it (us) it had.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

static uint64_t now_us(void) {
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000u + (uint64_t)now.tv_nsec / 1000u;
}

int main(int count, char **words) {
    uint64_t begin = now_us(), last = begin, longest = 0;
    uint64_t for_us = count == 2 ? strtoull(words[1], NULL, 10) : 0;

    while (last < begin + for_us) {
        uint64_t now = now_us();

        if (now - last > longest)
            longest = now - last;
        last = now;
    }
    printf("%llu %llu\n", (unsigned long long)longest,
           (unsigned long long)clock() * 1000000u / CLOCKS_PER_SEC);
    return 0;
}
