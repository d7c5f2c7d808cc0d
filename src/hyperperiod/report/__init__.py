# SPDX-License-Identifier: BSD-2-Clause
"""Reports: one HTML file each, self-contained, that any browser opens without a network.

Analysis, run and drawing are joined by files only: a report is made from a system, the result
objects and a trace, and can be made again from them at any time.
"""

from hyperperiod.report.compare_page import compare_report
from hyperperiod.report.explain_page import explain_page, explain_picture
from hyperperiod.report.fit_page import fit_page
from hyperperiod.report.system_page import write_report

__all__ = ["compare_report", "explain_page", "explain_picture", "fit_page", "write_report"]
