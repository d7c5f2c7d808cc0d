// SPDX-License-Identifier: BSD-2-Clause
/*
 * The arithmetic of loads: each line of the input is a number of pcpus and then budgets and
 * periods; each line of the output says whether they are too much, and their sum in millionths.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "load.h"

#define MOST 4096u

int main(void) {
    static struct share shares[MOST];
    char *line = NULL;
    size_t size = 0;
    while (getline(&line, &size, stdin) > 0) {
        char *at = line;
        unsigned int count = 0;
        uint32_t pcpus = (uint32_t)strtoul(at, &at, 10);
        while (strspn(at, " \n") != strlen(at) && count < MOST) {
            shares[count].budget_us = (uint32_t)strtoul(at, &at, 10);
            shares[count++].period_us = (uint32_t)strtoul(at, &at, 10);
        }
        printf("%d %llu %d\n", overbooks(shares, count, pcpus),
               (unsigned long long)load_ppm(shares, count),
               count > 1 && larger_share(shares[0], shares[1]));
    }
    free(line);
    return 0;
}
