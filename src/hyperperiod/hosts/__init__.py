# SPDX-License-Identifier: BSD-2-Clause
"""Hosts: where a system is run. Each gives the same result object (`result`) and trace."""

HOSTS = ("sim", "xen")
"""The hosts that every command which runs systems can run them on, as `--on` names them."""
