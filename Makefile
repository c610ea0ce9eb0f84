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
	@$(foreach part,$(present),printf '%-15s %s\n' '$(call field,$(part),1)' \
		'$(subst _, ,$(call field,$(part),3))';)

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

## kernel-NAME	build a kernel: base pghot pghot-precise pghot-off debug kcsan, stock-debug stock-kcsan
kernel-%: setup
	@$(BASE)/build $*

# Targets of other parts of the lab: there once their script is.
# NAME=SCRIPT=DESCRIPTION, blanks written as '_'.
parts := \
	check=lab/check=all_the_tests \
	demo=lab/bench/demo=stock_against_pghot,_in_a_few_minutes \
	bench=lab/bench/run=the_measurements_of_the_README \
	parity=lab/bench/parity=the_same_pages_promoted_as_by_stock \
	stall=lab/bench/stall=how_long_a_migration_stalls_accessors \
	idle=lab/bench/idle=what_pghot_costs_when_off_or_idle \
	teeth=lab/teeth/run=faults_planted,_and_the_tests_that_must_see_them \
	errors=lab/check-errors=what_the_user_sees_when_things_go_wrong

field = $(word $(2),$(subst =, ,$(1)))
present := $(foreach part,$(parts),$(if $(wildcard $(call field,$(part),2)),$(part)))

define part_rule
.PHONY: $(call field,$(1),1)
$(call field,$(1),1): setup
	@$(call field,$(1),2) $$(ARGS)
endef
$(foreach part,$(present),$(eval $(call part_rule,$(part))))

clean: ## remove what was built, keep the sources
	@rm -rf build/out build/series build/series-draft build/series-git
