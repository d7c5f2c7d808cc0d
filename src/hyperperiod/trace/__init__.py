# SPDX-License-Identifier: BSD-2-Clause
"""What a run did, record by record: the file, its readings, its conversions, its properties."""
