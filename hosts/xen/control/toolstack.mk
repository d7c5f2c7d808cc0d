# SPDX-License-Identifier: BSD-2-Clause
#
# Where the headers and libraries of Xen's toolstack come from: Debian trixie's packages, unpacked
# in build/, unless TOOLSTACK names another root (TOOLSTACK= with nothing: this machine's own).

TOOLSTACK ?= build/xen-toolstack
TOOLSTACK_PACKAGES := libxen-dev libxencall1 libxenstore4 libxentoolcore1 libxentoollog1

build/xen-toolstack/.unpacked: hosts/xen/control/toolstack.mk tools/trixie_packages
	@mkdir -p build/xen-toolstack
	@packages=$$(tools/trixie_packages amd64 $(TOOLSTACK_PACKAGES)) && \
	  for package in $$packages; do dpkg-deb -x "$$package" build/xen-toolstack || exit 1; done
	@touch $@
