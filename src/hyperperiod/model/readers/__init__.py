# SPDX-License-Identifier: BSD-2-Clause
"""Readers of what others write: each makes the tables of a system file of it, and its lines.

One module per form, named as the form is; `load.py` knows which reads what. A reader says in its
docstring what of the form it takes, and refuses by name what would change the answer.
"""
