# attnc: a Transformer's spec in, C out. `make help` lists the targets.
# The objects below stand in the order of the pipeline.

# make demo and make test install what is missing, before all else.
ifneq (,$(filter demo test test-full,$(MAKECMDGOALS)))
ifneq (ok,$(lastword $(shell sh tests/install.sh && echo ok)))
$(error install the packages named above, then run make again)
endif
endif

CLANGS := clang-19 clang clang-18 clang-17 clang-16 clang-15 clang-14
ifeq ($(origin CC),default)
CC := $(firstword $(foreach c,$(CLANGS),$(shell command -v $(c))) cc)
endif

WARN := -Wall
WARN += -Wextra
WARN += -Wpedantic
WARN += -Wshadow
WARN += -Wconversion
WARN += -Wno-sign-conversion     # sizes are int64_t, indices int: too noisy
WARN += -Wstrict-prototypes
WARN += -Wmissing-prototypes
WARN += -Wvla
WARN += -Werror

OPT     ?= -O2
CFLAGS  ?= -g
LDFLAGS ?=
LDLIBS  := -lyaml -ltcc -ljansson -lxxhash -lm -ldl -lpthread
PREFIX  ?= /usr/local
B       ?= build
ALL_CFLAGS := $(OPT) -std=c11 $(WARN) -ffp-contract=off -fno-pie $(CFLAGS)

FRONT   := arena diag yaml fields spec graph shape check print build
PASSES  := pass
BACK    := target plan plan_text emit emit_tile emit_kernels emit_ops \
           emit_model kernel_find
ORACLE  := interp verify
DRIVE   := cc jit objcache backend engine options bench cmd_compile cmd_run \
           cmd_tensors cmd_graph cmd_plan cmd_score
CORE    := memory math cache process beam search_memory search score \
           vocab packed
SHELL_  := files safetensors weights seed vocab_file

# Sources that are not in the lists yet are taken as they come.
COMPILER := $(FRONT) $(PASSES) $(BACK) $(ORACLE) $(DRIVE)
RUNTIME  := $(CORE) $(SHELL_)
COMPILER := $(COMPILER) $(filter-out $(COMPILER) main embed kernelset,\
              $(patsubst compiler/%.c,%,$(wildcard compiler/*.c)))
RUNTIME  := $(RUNTIME) $(filter-out $(RUNTIME) program,\
              $(patsubst runtime/%.c,%,$(wildcard runtime/*.c)))
SOURCES  := $(wildcard $(COMPILER:%=compiler/%.c) $(RUNTIME:%=runtime/%.c))

OBJECTS := $(SOURCES:%.c=$(B)/%.o)
TESTS   := $(patsubst tests/%.c,$(B)/tests/%,$(wildcard tests/*_test.c))

# Text that goes into emitted files, embedded in attnc when it is built.
EMBEDDED := $(wildcard compiler/kernels/*.c) runtime/core.h \
            $(wildcard $(CORE:%=runtime/%.c) runtime/program.c)

# Kernels for the JIT: printed by the emitter, compiled for each machine.
ifeq (x86_64,$(shell uname -m))
MACHINES := x86-64-v4 x86-64-v3 x86-64-v2
else ifeq (aarch64,$(shell uname -m))
MACHINES := armv8-a
else
MACHINES := generic
endif
KERNELSET := $(if $(wildcard compiler/kernelset.c),\
               $(MACHINES:%=$(B)/kernels/%.o))
march = $(if $(filter generic,$*),,-march=$*)
STAGE1 := $(patsubst %,$(B)/compiler/%.o,kernelset arena diag target emit \
            emit_tile emit_kernels) $(B)/runtime/files.o $(B)/embedded.o

all: $(B)/attnc ## the compiler, build/attnc (this is the default)

$(B)/attnc: $(B)/compiler/main.o $(B)/libattnc.a
	$(CC) $(ALL_CFLAGS) -no-pie $(LDFLAGS) -o $@ $^ $(LDLIBS)
	@echo "built $@ by $$($(CC) --version | head -n 1)"

$(B)/libattnc.a: $(OBJECTS) $(B)/embedded.o $(KERNELSET)
	@rm -f $@
	ar rcs $@ $^

$(B)/%.o: %.c
	@mkdir -p $(@D)
	$(CC) $(ALL_CFLAGS) -MMD -c -o $@ $<

$(B)/embed: compiler/embed.c
	@mkdir -p $(@D)
	$(CC) $(ALL_CFLAGS) -no-pie -o $@ $<
$(B)/embedded.c: $(B)/embed $(EMBEDDED)
	$(B)/embed $(EMBEDDED) > $@.tmp && mv $@.tmp $@
$(B)/embedded.o: $(B)/embedded.c
	$(CC) $(OPT) -std=c11 -fno-pie -c -o $@ $<

$(B)/kernelset: $(STAGE1)
	$(CC) $(ALL_CFLAGS) -no-pie -o $@ $^ -lm
$(B)/kernels/%.c: $(B)/kernelset
	@mkdir -p $(@D)
	$(B)/kernelset $* > $@.tmp && mv $@.tmp $@
$(B)/kernels/%.o: $(B)/kernels/%.c
	$(CC) -O2 -std=c11 $(march) -ffp-contract=off -fno-math-errno \
	    -fno-trapping-math -fno-pie -c -o $@ $<

$(B)/tests/%_test: tests/%_test.c $(B)/libattnc.a
	@mkdir -p $(@D)
	$(CC) $(ALL_CFLAGS) -MMD -no-pie $(LDFLAGS) -o $@ $(filter %.c %.o %.a,$^) -lcmocka $(LDLIBS)

test: $(B)/attnc $(TESTS) ## all tests; installs what is missing (Debian, Ubuntu)
	B=$(B) sh tests/run.sh

test-full: $(B)/attnc $(TESTS) ## all tests at full depth: hours
	B=$(B) ATTNC_FULL=1 sh tests/run.sh

check-asan: ## all tests under AddressSanitizer and UBSan, in build/asan
	$(MAKE) B=build/asan OPT=-O1 test \
	    CFLAGS='-g -fsanitize=address,undefined -fno-sanitize-recover=all'

demo: $(B)/attnc ## English words to phonemes, by C made from a YAML spec
	sh tests/demo.sh $(B)

bench: $(B)/attnc ## speed, beside the machine's own limit
	$(B)/attnc bench models/transformer-base.yaml -p 128 -r 7
	$(B)/attnc bench models/g2p-en/g2p-en.yaml -p 32 -n 32

G2P := models/g2p-en
g2p-error: $(B)/attnc $(B)/g2p_errors ## g2p-en's error on its held-out words
	cut -f 1 $(G2P)/heldout.txt | $(B)/attnc run $(G2P)/g2p-en.yaml | \
	    $(B)/g2p_errors $(G2P)/heldout.txt

$(B)/g2p_errors: bench/g2p_errors.c
	@mkdir -p $(@D)
	$(CC) $(ALL_CFLAGS) -no-pie $(LDFLAGS) -o $@ $<

golden: $(B)/attnc $(TESTS) ## rewrite the expected outputs; review the diff
	B=$(B) sh tests/run.sh --rewrite

sample: $(B)/attnc ## regenerate generated/
	cd generated && ../$(B)/attnc compile ../models/tiny.yaml -o tiny.c

lint: ## sizes, forbidden words, layout
	sh tests/lint.sh

format: ## clang-format on all sources
	clang-format -i compiler/*.[ch] runtime/*.[ch] tests/*.c

clean: ## remove build/
	rm -rf $(B)

help: ## this list
	@sed -n 's/^\([a-z0-9-]*\):.*## /\1	/p' Makefile | expand -t 14

-include $(shell find $(B) -name '*.d' 2>/dev/null)
.PHONY: all test test-full check-asan demo bench g2p-error golden sample lint \
        format clean help
.DELETE_ON_ERROR:
.SECONDARY:
