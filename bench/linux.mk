# SPDX-License-Identifier: BSD-2-Clause
#
# What bench/linux_host.py has on its machine, made in OUT from the top of the repository, with the
# headers and libraries below SYSROOT; as hosts/linux makes its own.

CLANG ?= clang-19
MULTIARCH := x86_64-linux-gnu
LIBRARIES := $(SYSROOT)/usr/lib/$(MULTIARCH)
BPF_WARNINGS := -Wall -Wextra -Werror -Wno-unused-parameter -Wno-microsoft-anon-tag \
                -Wno-missing-declarations
HEADERS := tests/linux/pass_time.h \
           $(wildcard bench/linux_*.h hosts/linux/*.h record/*.h core/*.h core/*/*.h)

$(OUT)/%.bpf.o: bench/%.bpf.c $(HEADERS)
	$(CLANG) -target bpf -mcpu=v4 -O2 -g -std=gnu11 -ffreestanding -fms-extensions \
	  $(BPF_WARNINGS) -D__TARGET_ARCH_x86 -I. \
	  -isystem $(SYSROOT)/usr/include/$(MULTIARCH)/linux/bpf -isystem $(SYSROOT)/usr/include \
	  -c -o $@ $<

$(OUT)/price: bench/linux_price.c $(HEADERS)
	gcc -std=gnu11 -O2 -Wall -Wextra -Werror -D_GNU_SOURCE -I. --sysroot=$(SYSROOT) \
	  -isystem $(SYSROOT)/usr/include/$(MULTIARCH) -B$(LIBRARIES) -L$(LIBRARIES) \
	  -static -o $@ $< -lbpf -lelf -lz -lzstd
