# nnc: build and tests. Everything made goes under build/; `make help` lists the targets.
#
# New sources are found by wildcard: compiler/*.c and compiler/*/*.c, tests/unit/test_*.c (one
# Criterion program each, linked with libnnc.a), tests/runtime/test_*.c (they include runtime/*.h).

ifeq ($(origin CC),default)
CC := gcc
endif
CFLAGS ?= -O2 -g
PREFIX ?= /usr/local
B ?= build
NNC := $(B)/nnc

WARN := -Wall -Wextra -Wpedantic -Wshadow -Wconversion -Wstrict-prototypes -Wmissing-prototypes
ifdef CI
WARN += -Werror
endif
BASE := -std=gnu17 -MMD -MP -Icompiler -I$(B)
SANITIZE := -O1 -g -fsanitize=address,undefined -fno-sanitize-recover=undefined

SRC := $(wildcard compiler/*.c compiler/*/*.c)
OBJ := $(SRC:%.c=$(B)/%.o)
MAIN := $(B)/compiler/main.o
LIB := $(filter-out $(MAIN),$(OBJ)) $(B)/nn.tab.o $(B)/nn.lex.o $(B)/embedded.o
EMBED := $(wildcard runtime/*.h templates/*) $(B)/rt_math_1.h compiler/std.nn

UNIT := $(patsubst tests/%.c,$(B)/tests/%,$(wildcard tests/unit/test_*.c tests/ops/test_*.c))
UNIT_HELP := $(patsubst %.c,$(B)/%.o,$(filter-out tests/unit/test_%,$(wildcard tests/unit/*.c)))
RT := $(patsubst tests/%.c,$(B)/tests/%,$(wildcard tests/runtime/test_*.c))

.PHONY: all demo check test soak bench lint asan install clean help deps-test suites \
    gpu-pack gpu-check
.SECONDARY:
.DELETE_ON_ERROR:

all: $(NNC)

help:
	@echo 'all       build/nnc, the compiler'
	@echo 'demo      builds nnc, compiles and trains models/digits.nn (under a minute)'
	@echo 'check     lint, unit tests, quick scripts (minutes)'
	@echo 'test      everything, including tests/show (what CI runs)'
	@echo 'soak      long random tests, by hand'
	@echo 'bench     speed, as ratios to the machine and to PyTorch'
	@echo 'lint      house rules: lengths, globals, includes, calls in the wrong place'
	@echo 'asan      build/asan/nnc, with address and undefined-behaviour checks'
	@echo 'gpu-check bits, memory and times of every model on a GPU; gpu-pack: a folder to run there'
	@echo 'install   to PREFIX ($(PREFIX))'

# ---- the compiler ------------------------------------------------------------------------------

$(NNC): $(MAIN) $(B)/libnnc.a
	$(CC) $(CFLAGS) $(LDFLAGS) -o $@ $^ -lz -lm

$(B)/libnnc.a: $(LIB)
	@rm -f $@
	$(AR) rcs $@ $^

$(B)/compiler/%.o: compiler/%.c | $(B)/nn.tab.h $(B)/nn.lex.h $(B)/rt_math_1.h
	@mkdir -p $(@D)
	$(CC) $(BASE) $(WARN) $(CFLAGS) -c -o $@ $<

# The scanner and the parser are made by tools that convert freely.
$(B)/%.o: $(B)/%.c | $(B)/nn.tab.h $(B)/nn.lex.h
	$(CC) $(BASE) -Wall -Wextra -Wno-sign-compare -Wno-unused-function $(CFLAGS) -c -o $@ $<

$(B)/nn.tab.c $(B)/nn.tab.h &: grammar/nn.y
	@mkdir -p $(B)
	bison -Wall --defines=$(B)/nn.tab.h -o $(B)/nn.tab.c $<

$(B)/nn.lex.c $(B)/nn.lex.h &: grammar/nn.l
	@mkdir -p $(B)
	flex --header-file=$(B)/nn.lex.h -o $(B)/nn.lex.c $<

$(B)/embed: tools/embed.c tools/cut.c tools/cut.h compiler/embed.h compiler/ctoken.h
	@mkdir -p $(B)
	$(CC) -std=gnu17 -Icompiler $(WARN) -O1 -o $@ $(filter %.c,$^)

# Mathematics on one number, from that on lanes.
$(B)/rt_math_1.h: runtime/rt_math.h tools/one.sed
	@mkdir -p $(B)
	sed -n -f tools/one.sed $< > $@

$(B)/embedded.c: $(B)/embed $(EMBED)
	$(B)/embed $(EMBED) > $@

# ---- tests -------------------------------------------------------------------------------------

$(B)/tests/unit/%.o: tests/unit/%.c | $(B)/nn.tab.h $(B)/nn.lex.h
	@mkdir -p $(@D)
	$(CC) $(BASE) -Itests/unit $(WARN) -Wno-missing-prototypes -Wno-pedantic $(CFLAGS) -c -o $@ $<

$(B)/tests/ops/%.o: tests/ops/%.c
	@mkdir -p $(@D)
	$(CC) $(BASE) -Itests/unit $(WARN) -Wno-missing-prototypes -Wno-pedantic $(CFLAGS) -c -o $@ $<

$(B)/tests/unit/test_%: $(B)/tests/unit/test_%.o $(UNIT_HELP) $(B)/libnnc.a
	$(CC) $(CFLAGS) $(LDFLAGS) -o $@ $^ -lcriterion -lz -lm

$(B)/tests/ops/test_%: $(B)/tests/ops/test_%.o $(UNIT_HELP) $(B)/libnnc.a
	$(CC) $(CFLAGS) $(LDFLAGS) -o $@ $^ -lcriterion -lz -lm

$(B)/tests/runtime/test_%: tests/runtime/test_%.c | $(B)/rt_math_1.h
	@mkdir -p $(@D)
	$(CC) -std=gnu17 -MMD -MP -MF $@.d -Iruntime -I$(B) $(WARN) -Wno-missing-prototypes -Wno-pedantic \
	    $(CFLAGS) $(LDFLAGS) -o $@ $< -lcriterion -lz -pthread -lm

deps-test:
	@tools/deps.sh test

suites: $(NNC) $(UNIT) $(RT)

check: deps-test
	@$(MAKE) --no-print-directory suites
	@tests/run.sh check

test: deps-test
	@$(MAKE) --no-print-directory suites
	@tests/run.sh test

soak: deps-test
	@$(MAKE) --no-print-directory suites
	@tests/run.sh soak

lint:
	@tools/lint.sh

asan:
	@$(MAKE) --no-print-directory B=$(B)/asan CFLAGS='$(SANITIZE)' all

# ---- use ---------------------------------------------------------------------------------------

demo:
	@tools/demo.sh

bench: $(NNC)
	@bench/run.sh

gpu-pack gpu-check: $(NNC)
	@tools/$(subst -,_,$@).sh

install: $(NNC)
	install -D -m 755 $(NNC) $(DESTDIR)$(PREFIX)/bin/nnc
	install -D -m 644 grammar/README.md $(DESTDIR)$(PREFIX)/share/doc/nnc/language.md
	install -D -m 644 compiler/std.nn $(DESTDIR)$(PREFIX)/share/nnc/std.nn
	install -d $(DESTDIR)$(PREFIX)/share/nnc/models
	install -m 644 models/*.nn $(DESTDIR)$(PREFIX)/share/nnc/models

clean:
	rm -rf $(B)

-include $(OBJ:.o=.d) $(LIB:.o=.d) $(UNIT:=.d) $(UNIT_HELP:.o=.d) $(RT:=.d)
