# SPDX-License-Identifier: BSD-2-Clause
"""What each command shows to people: its tables, from the objects that `--json` prints.

Nothing can be seen here that programs cannot read there.
"""
