# SPDX-License-Identifier: BSD-2-Clause
#
# hyperperiodd over a kernel that is a log, hyperperiodctl, and the task API, under sanitizers:
# make -f tests/linux/daemon.mk, from the top of the repository, puts them into build/linux-fake. What
# hyperperiodctl reads of processes is in the folder `proc` of the one that it is started in.

OUT := build/linux-fake
DAEMON := hosts/linux/daemon
CONTROL := hosts/linux/control
SANITIZE := -fsanitize=address,undefined -fno-sanitize-recover=all
CFLAGS := -std=gnu11 -O1 -g -Wall -Wextra -Werror -Wswitch -D_GNU_SOURCE $(SANITIZE)
INCLUDES := -I. -I$(DAEMON)
HEADERS := $(wildcard $(DAEMON)/*.h hosts/linux/*.h record/*.h core/*.h core/*/*.h words/*.h)
REAL := $(patsubst $(DAEMON)/%.c,$(OUT)/%.o,$(filter-out %/kernel.c %/enders.c,$(wildcard $(DAEMON)/*.c)))

.DEFAULT_GOAL := all
.PHONY: all
all: $(OUT)/hyperperiodd $(OUT)/hyperperiodctl $(OUT)/busy $(OUT)/rt_driver

$(OUT)/hyperperiodd: $(REAL) $(OUT)/fake_kernel.o
	$(CC) $(SANITIZE) -o $@ $^

$(OUT)/busy: $(OUT)/busy.o $(OUT)/room.o $(OUT)/system.o $(OUT)/request.o $(OUT)/text.o
	$(CC) $(SANITIZE) -o $@ $^

$(OUT)/rt_driver: tests/linux/rt_driver.c hosts/linux/api/hyperperiod_rt.c $(wildcard hosts/linux/api/*.h)
	@mkdir -p $(OUT)
	$(CC) $(CFLAGS) -Ihosts/linux/api -o $@ $(filter %.c,$^)

$(OUT)/hyperperiodctl: $(wildcard $(CONTROL)/*.c $(CONTROL)/*.h) words/words.h
	@mkdir -p $(OUT)
	$(CC) $(CFLAGS) $(INCLUDES) -DPROC='"proc"' -o $@ $(filter %.c,$^)

$(OUT)/%.o: $(DAEMON)/%.c $(HEADERS)
	@mkdir -p $(OUT)
	$(CC) $(CFLAGS) $(INCLUDES) -c -o $@ $<

$(OUT)/%.o: tests/linux/%.c $(HEADERS)
	@mkdir -p $(OUT)
	$(CC) $(CFLAGS) $(INCLUDES) -c -o $@ $<
