# SPDX-License-Identifier: BSD-2-Clause
"""Hosts: where a system is run. Each gives the same result object (`result`) and trace."""
