# SPDX-License-Identifier: BSD-2-Clause
"""`python -m hyperperiod` is the command line."""

from hyperperiod.front import main

main()
