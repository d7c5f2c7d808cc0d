// SPDX-License-Identifier: BSD-2-Clause
//
// The module hyperperiod._rules: the rows of the core's rules and policies (core/rules.h,
// core/policy.h) as tables for the model. It has no code of its own, so that a rule stands in one
// place. src/hyperperiod/_rules.pyi is the same in Python's words.

#include "core/policy.h"

#include <nanobind/nanobind.h>

namespace nb = nanobind;

namespace {

// The numbers in a set of rules.
nb::tuple members(hp_u32 set) {
    nb::list numbers;
    for (unsigned int number = 0; set >> number != 0; number++)
        if (set >> number & 1u)
            numbers.append(number);
    return nb::tuple(numbers);
}

nb::tuple budgets() {
    nb::list rows;
#define ROW(name, NAME, catch_up, charge, arrive, account, traits, most, orders, one, several)     \
    rows.append(nb::make_tuple(name, static_cast<unsigned int>(traits), most, members(orders),     \
                               members(one), members(several)));
    HP_BUDGETS(ROW)
#undef ROW
    return nb::tuple(rows);
}

nb::tuple orders() {
    nb::list names;
#define ROW(name, ...) names.append(name);
    HP_ORDERS(ROW)
#undef ROW
    return nb::tuple(names);
}

nb::tuple slacks() {
    nb::list names;
#define ROW(name, ...) names.append(name);
    HP_SLACKS(ROW)
#undef ROW
    return nb::tuple(names);
}

nb::tuple policies() {
    nb::list rows;
#define ROW(name, scope, budget, order, slack)                                                     \
    rows.append(nb::make_tuple(name, #scope, static_cast<unsigned int>(budget),                    \
                               static_cast<unsigned int>(order),                                   \
                               static_cast<unsigned int>(slack)));
    HP_POLICIES(ROW)
#undef ROW
    return nb::tuple(rows);
}

} // namespace

NB_MODULE(_rules, module) {
    module.attr("TIMED") = HP_TIMED;
    module.attr("KEEPS") = HP_KEEPS;
    module.attr("PAYS_IDLE") = HP_PAYS_IDLE;
    module.attr("WHEN_EMPTY") = HP_WHEN_EMPTY;
    module.attr("BUDGETS") = budgets();
    module.attr("ORDERS") = orders();
    module.attr("SLACKS") = slacks();
    module.attr("POLICIES") = policies();
}
