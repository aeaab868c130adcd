# make demo | test | fuzz | lint | sanitize | bench | clean
#
# Everything happens in .venv, which the first target makes. Python files are used where they lie;
# what is compiled, or named in pyproject.toml, is built and installed again when it has changed.

PYTHON ?= python3
ARGS   ?=
export CXX

VENV   := .venv
DONE   := $(VENV)/done
IN     := $(VENV)/bin
PIP    := $(IN)/python -m pip -qq --disable-pip-version-check --no-input
NATIVE := CMakeLists.txt $(wildcard core/* bindings/*)
TIDY   := $(wildcard core/* bindings/* tests/native/*.cpp)
STUB   := src/adatron/_core.pyi

.PHONY: help demo test fuzz lint format stub sanitize bench clean FORCE
.NOTPARALLEL:
.DELETE_ON_ERROR:

help:
	@echo 'make demo    a machine that tunes itself, its certificate and its path: out/path.png, out/demo.png'
	@echo 'make test    the tests and the examples in the docstrings; ARGS="-k kernels" picks some'
	@echo 'make fuzz    random fits judged from outside, for two minutes; ARGS="--cases 20000 --seed 7" or "--case 7000001"'
	@echo 'make lint    ruff, mypy and clang-format; make format puts the layout right'
	@echo "make stub    write the native module's type stub from what is built"
	@echo 'make sanitize  the native code under ASan, UBSan and TSan (Linux, g++); ARGS="-k gram" picks some tests'
	@echo 'make bench   against other libraries; ARGS="--quick" for small data'
	@echo 'make clean   remove what was made here'

demo: $(DONE)/built $(DONE)/plot
	@$(IN)/python -m adatron.demo $(ARGS)

test: $(DONE)/built $(DONE)/test
	@$(IN)/python -m pytest --doctest-modules src tests $(ARGS)

fuzz: $(DONE)/built $(DONE)/test
	@$(IN)/python -m fuzz $(ARGS)

# All the checks are made, whichever fails.
lint: $(DONE)/built $(DONE)/plot $(DONE)/lint
	@failed=; \
	check() { name=$$1; shift; echo "$$name"; "$$@" || failed="$$failed, $$name"; }; \
	check 'ruff check' $(IN)/ruff check --quiet .; \
	check 'ruff format' $(IN)/ruff format --quiet --diff .; \
	check 'mypy' $(IN)/python -m mypy; \
	check 'clang-format' $(IN)/clang-format --dry-run -Werror $(TIDY); \
	[ -z "$$failed" ] || { echo "lint: failed$${failed#,}" >&2; exit 1; }

format: $(DONE)/built $(DONE)/lint
	@$(IN)/ruff format --quiet .
	@$(IN)/clang-format -i $(TIDY)

# What mypy and editors know of the native module; to be made anew when bindings/ changes its interface.
stub: $(DONE)/built
	@$(IN)/python -m nanobind.stubgen --quiet -m adatron._core -o $(STUB)

# The same tests with instrumented native code: memory and undefined behaviour first, then data races in what uses
# threads. Only our code is instrumented; the sanitizer's library is loaded before Python, which is not.
# - detect_leaks=0: CPython and NumPy keep memory until the end of the process on purpose.
# - alloc_dealloc_mismatch=0: Python's extensions allocate and free across libraries that ASan cannot see into.
# - ignore_noninstrumented_modules, report_signal_unsafe: TSan cannot know how Python, BLAS and OpenMP synchronise.
# - 5 is pytest's way to say that ARGS has picked none of these tests.
# - "not slow_under_sanitizers" leaves out what is Python alone and takes minutes.
SANITIZE := $(VENV)/sanitize
SANITIZED = env PYTHONPATH=$(abspath $(SANITIZE)/$(1)/path):$$($(IN)/python -c 'import sysconfig; print(sysconfig.get_path("purelib"))') \
	ADATRON_SANITIZE=$(2) OMP_NUM_THREADS=2 LD_PRELOAD="$$(g++ -print-file-name=$(3)) $$(g++ -print-file-name=libstdc++.so)" \
	ASAN_OPTIONS=detect_leaks=0:alloc_dealloc_mismatch=0:allocator_may_return_null=1 UBSAN_OPTIONS=print_stacktrace=1 \
	TSAN_OPTIONS=ignore_noninstrumented_modules=1:report_signal_unsafe=0:die_after_fork=0:halt_on_error=1 \
	$$($(IN)/python -c 'import sys; print(sys._base_executable)') -m pytest -p no:cacheprovider $(ARGS)

sanitize: $(SANITIZE)/address/built $(SANITIZE)/thread/built $(DONE)/test
	@echo 'address and undefined behaviour'
	@$(call SANITIZED,address,address$(comma)undefined,libasan.so) tests/native tests/contract tests/estimators tests/selection -m 'not slow_under_sanitizers' || [ $$? = 5 ]
	@echo 'threads'
	@$(call SANITIZED,thread,thread,libtsan.so) tests/native tests/contract/test_threads.py -m 'not slow_under_sanitizers' || [ $$? = 5 ]

comma := ,
$(SANITIZE)/address/built: SANITIZERS := address,undefined
$(SANITIZE)/thread/built: SANITIZERS := thread
$(SANITIZE)/%/built: $(DONE)/built
	@echo 'building adatron for $(SANITIZERS)'
	@mkdir -p $(@D)/path/adatron
	@PATH="$(abspath $(IN)):$$PATH"; cmake -S . -B $(@D)/build -DCMAKE_BUILD_TYPE=Release -DCMAKE_CXX_COMPILER=g++ \
		-DPython_EXECUTABLE=$(abspath $(IN)/python) -Dnanobind_DIR=$$($(IN)/python -m nanobind --cmake_dir) \
		-DADATRON_SANITIZE='$(SANITIZERS)' >$(@D)/log && cmake --build $(@D)/build --parallel >>$(@D)/log
	@ln -sfn $(CURDIR)/src/adatron/* $(@D)/path/adatron/
	@ln -sfn $(abspath $(@D))/build/_core.*.so $(@D)/path/adatron/
	@touch $@

bench: $(DONE)/built $(DONE)/bench
	@$(IN)/python -m benchmarks $(ARGS)
	@$(IN)/python -m benchmarks.small $(filter --quick,$(ARGS))
	@$(IN)/python -m benchmarks.multiclass $(filter --quick,$(ARGS))
	@$(IN)/python -m benchmarks.selection $(filter --quick,$(ARGS))
	@$(IN)/python -m benchmarks.linear $(filter --quick,$(ARGS))

clean:
	rm -rf $(VENV) build out .mypy_cache .ruff_cache .pytest_cache .hypothesis
	find src tests benchmarks fuzz -name __pycache__ -type d -prune -exec rm -rf {} +

# --- the environment ------------------------------------------------------------------------------

need = $(1) >/dev/null 2>&1 || { echo "adatron needs $(2)" >&2; exit 1; }
compiles_cxx20 = echo 'int main() {}' | $(CXX) -std=c++20 -x c++ -fsyntax-only -
compiler = a C++20 compiler, g++ 10 or newer (apt install g++; dnf install gcc-c++): '$(CXX)' is none. CXX=... names another.

# The list of requirements under a key of pyproject.toml, a line each.
listed = $(IN)/python -c 'import tomllib; print(*tomllib.load(open("pyproject.toml", "rb"))$(1), sep="\n")'

# An editable install knows its folder by its full name: in a moved or copied one it is made anew.
ifneq ($(shell cat $(VENV)/home 2>/dev/null),$(CURDIR))
$(VENV)/home: FORCE
endif

$(VENV)/home:
	@$(call need,command -v $(PYTHON),Python 3.11 or newer: '$(PYTHON)' is not found. PYTHON=... names another.)
	@$(call need,$(PYTHON) -c 'import sys; sys.exit(sys.hexversion < 0x30b0000)',Python 3.11 or newer: '$(PYTHON)' is $$($(PYTHON) -V 2>&1). PYTHON=... names another.)
	@$(call need,$(PYTHON) -c 'import ensurepip; import venv',Python's venv module (apt install python3-venv).)
	@$(call need,$(PYTHON) -c 'import os; import sysconfig; os.stat(sysconfig.get_path("include") + "/Python.h")',Python's headers (apt install python3-dev; dnf install python3-devel).)
	@$(call need,$(compiles_cxx20),$(compiler))
	@echo 'making $(VENV)'
	@rm -rf $(VENV)
	@$(PYTHON) -m venv $(VENV)
	@mkdir $(DONE)
	@printf '%s' '$(CURDIR)' >$@

# What builds the package stays installed beside it, so that a rebuild compiles only what changed;
# scikit-build-core itself says whether it wants a newer cmake or ninja than the system's.
$(DONE)/tools: pyproject.toml $(VENV)/home
	@echo 'installing the build tools'
	@$(call listed,["build-system"]["requires"]) >$@.txt
	@$(PIP) install -r $@.txt
	@$(IN)/python -c 'import scikit_build_core.build as b; print(*b.get_requires_for_build_editable({}), sep="\n")' >$@.txt
	@$(PIP) install -r $@.txt
	@touch $@

$(DONE)/built: pyproject.toml $(NATIVE) $(DONE)/tools
	@$(call need,$(compiles_cxx20),$(compiler))
	@echo 'building adatron'
	@$(PIP) install --no-build-isolation --config-settings=build-dir=$(VENV)/build --editable .
	@touch $@

$(DONE)/plot $(DONE)/test $(DONE)/lint: $(DONE)/%: pyproject.toml | $(DONE)/built
	@echo 'installing what $* needs'
	@$(call listed,["project"]["optional-dependencies"]["$*"]) >$@.txt
	@$(PIP) install -r $@.txt
	@touch $@

# Not every contender exists for every machine, and none may replace the packages adatron runs on.
$(DONE)/bench: pyproject.toml | $(DONE)/built
	@echo 'installing the contenders'
	@$(call listed,["project"]["optional-dependencies"]["bench"]) >$@.txt
	@$(PIP) freeze --exclude-editable >$@.keep
	@while read -r name; do \
		$(PIP) install --prefer-binary --constraint $@.keep "$$name" </dev/null || \
		echo "$$name cannot be installed here: the benchmark goes without it"; \
	done <$@.txt
	@touch $@
