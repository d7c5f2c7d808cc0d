// SPDX-License-Identifier: BSD-2-Clause
/*
 * A sum of fractions as numerator and denominator: digits of 32 bits, the lowest first. The
 * denominator is the product of all periods; each share multiplies both, so that n shares need
 * n digits, and a few more for what a comparison multiplies by.
 */
#include "load.h"

#include <stdlib.h>

#include "text.h"

#define SPARE_DIGITS 4u
#define PPM 1000000u

struct sum {
    unsigned int digits;
    uint32_t *numerator, *denominator, *left, *right; /* left and right: for comparisons */
};

/* to += number * factor */
static void add_product(uint32_t *to, const uint32_t *number, uint32_t factor,
                        unsigned int digits) {
    uint64_t carry = 0;
    for (unsigned int i = 0; i < digits; i++) {
        carry += (uint64_t)number[i] * factor + to[i];
        to[i] = (uint32_t)carry;
        carry >>= 32;
    }
}

static void set_product(uint32_t *to, const uint32_t *number, uint32_t factor,
                        unsigned int digits) {
    uint64_t carry = 0;
    for (unsigned int i = 0; i < digits; i++) {
        carry += (uint64_t)number[i] * factor;
        to[i] = (uint32_t)carry;
        carry >>= 32;
    }
}

static struct sum sum_of(const struct share *shares, unsigned int count) {
    struct sum sum = {.digits = count + SPARE_DIGITS};
    uint32_t *digits = calloc((size_t)sum.digits * 4, sizeof(*digits));
    if (digits == NULL)
        fail(LACKS, "no memory to add up %u servers", count);
    sum.numerator = digits;
    sum.denominator = digits + sum.digits;
    sum.left = digits + 2 * (size_t)sum.digits;
    sum.right = digits + 3 * (size_t)sum.digits;
    sum.denominator[0] = 1;
    for (unsigned int i = 0; i < count; i++) {
        if (shares[i].period_us == 0)
            continue;
        set_product(sum.numerator, sum.numerator, shares[i].period_us, sum.digits);
        add_product(sum.numerator, sum.denominator, shares[i].budget_us, sum.digits);
        set_product(sum.denominator, sum.denominator, shares[i].period_us, sum.digits);
    }
    return sum;
}

/* Whether the sum times `times` is above (1), at (0) or below (-1) `limit`. */
static int compare(struct sum *sum, uint32_t times, uint32_t limit) {
    set_product(sum->left, sum->numerator, times, sum->digits);
    set_product(sum->right, sum->denominator, limit, sum->digits);
    for (unsigned int i = sum->digits; i > 0; i--)
        if (sum->left[i - 1] != sum->right[i - 1])
            return sum->left[i - 1] > sum->right[i - 1] ? 1 : -1;
    return 0;
}

bool overbooks(const struct share *shares, unsigned int count, uint32_t pcpus) {
    struct sum sum = sum_of(shares, count);
    bool result = compare(&sum, 1, pcpus) > 0;
    free(sum.numerator);
    return result;
}

uint64_t load_ppm(const struct share *shares, unsigned int count) {
    struct sum sum = sum_of(shares, count);
    uint32_t largest = 0; /* so far, of those that the sum reaches */
    for (unsigned int bit = 32; bit > 0; bit--)
        if (compare(&sum, PPM, largest | 1u << (bit - 1)) >= 0)
            largest |= 1u << (bit - 1);
    free(sum.numerator);
    return largest;
}

bool larger_share(struct share first, struct share second) {
    if (first.period_us == 0 || second.period_us == 0)
        return first.period_us != 0 && first.budget_us != 0;
    return (uint64_t)first.budget_us * second.period_us
           > (uint64_t)second.budget_us * first.period_us;
}
