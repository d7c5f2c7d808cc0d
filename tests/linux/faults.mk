# SPDX-License-Identifier: BSD-2-Clause
# The program that makes life hard for the scheduler on Linux (faults.c).
OUT := build/linux-faults

$(OUT)/faults: tests/linux/faults.c tests/linux/pass_time.h tests/linux/faults.mk
	mkdir -p $(OUT)
	gcc -std=gnu11 -O2 -Wall -Wextra -Werror -Wshadow -Wconversion -static -o $@ $<
