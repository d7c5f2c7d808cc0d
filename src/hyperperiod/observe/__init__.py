# SPDX-License-Identifier: BSD-2-Clause
"""From a trace of a machine that runs to a system file: what its threads did, as tasks.

From the bottom up: `events` says what can be read of a scheduler, `ftrace` reads it from lines of
text, `printed` from what tools print of their own files, `perfetto` from files of Perfetto and
`xentrace` from those of Xen, `callbacks` what callbacks of ROS 2 did, `jobs` cuts what threads do
into jobs, `releases` finds the grid on which jobs come, `recorded` reads our own traces, `observe`
says what each thread is, and `system` writes those that are tasks. All that is found was measured:
nothing is proved.
"""
