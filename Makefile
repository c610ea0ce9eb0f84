# SPDX-License-Identifier: GPL-2.0
# Everything is done by executables under lab/: this only gives them names.

.DEFAULT_GOAL := help
.SUFFIXES:

BASE := lab/base
flag = $(if $(filter-out 0,$($(1))),$(2))

.PHONY: help setup fetch tree refresh series lint bisect unit clean

help: ## list the targets
	@grep -hE '^[a-z][a-z-]*(-NAME)?:.*##|^##' $(MAKEFILE_LIST) | \
		sed -E 's:^## ::; s|:.*## |\t|' | expand -t 16
	@for name in $(optional); do printf '%-15s %s\n' "$$name" "lab script"; done

setup: ## install the Debian packages that the rest needs
	@$(BASE)/setup

fetch: setup ## get the stock kernel (build/src/stock); LINUX_SOURCE=<tarball or tree>
	@$(BASE)/fetch

tree: setup ## assemble build/src/pghot; AT=NNNN stops at a patch, DISCARD=1 drops edits
	@$(BASE)/tree $(if $(AT),--at $(AT)) $(call flag,DISCARD,--discard)

refresh: ## edits in build/src/pghot to the top patch; ADD=1, FILES='a b', STAY=1
	@$(BASE)/refresh $(call flag,ADD,--add) $(call flag,STAY,--stay) $(FILES)

series: setup ## write build/series/*.patch for git am, and check them
	@$(BASE)/series

lint: setup ## checkpatch, W=1 and sparse: nothing to report
	@$(BASE)/lint

bisect: setup ## every commit of the series builds and boots; FROM=NNNN
	@$(BASE)/bisect $(if $(FROM),--from $(FROM))

unit: ## test the tools of lab/base
	@/usr/bin/python3 -m unittest discover -q -s $(BASE)/tests -t $(BASE)/tests

## kernel-NAME	build a kernel: base pghot pghot-precise pghot-off debug kcsan
kernel-%: setup
	@$(BASE)/build $*

clean: ## remove what was built, keep the sources
	@rm -rf build/out build/series build/series-git
