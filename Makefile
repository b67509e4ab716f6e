# Every target sets itself up: it needs only Python 3.11+ and make.
PYTHON ?= python3
BIN := .venv/bin
ifeq ($(OS),Windows_NT)  # recipes are for a shell such as Git's bash
BIN := .venv/Scripts
SHELL := bash
endif
RUN := $(BIN)/python

.PHONY: help demo test test-slow test-oldest fuzz lint check docs dist evidence leaderboard bench paper frameworks clean

help:
	@echo "make demo      a report of the floor of a bundled table, bayesfloor-demo.html"
	@echo "make test      run the tests, all but the long ones"
	@echo "make test-slow  run the long ones: claims that are averages over many samples"
	@echo "make test-oldest  run the tests with the oldest versions that pyproject.toml allows, in .venv-oldest"
	@echo "make fuzz      20,000 bad inputs, and a table of what they came to"
	@echo "make check     tests, lint and types (make lint for the last two alone)"
	@echo "make docs      the site, with a gallery that is run: build/site/index.html"
	@echo "make dist      wheel and sdist, checked; the wheel is installed by itself and runs the demo"
	@echo "make evidence  regenerate every measured figure (long)"
	@echo "make leaderboard  every estimator on every problem with a known floor; continues an interrupted run"
	@echo "make paper     every experiment of the paper (docs/paper.md; about an hour)"
	@echo "make frameworks  install what the tests of the callbacks need; without it they are skipped"
	@echo "make bench     speed against rivals, in one run"
	@echo "make clean     remove the virtual environment and caches"

.venv/made:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
	  { echo "bayesfloor needs Python 3.11 or newer; try: make PYTHON=python3.12 ..."; exit 2; }
	$(PYTHON) -m venv .venv
	$(RUN) -m pip install --quiet --upgrade 'pip>=25.1'
	@touch $@

# The first estimate compiles code that numba keeps beside the package: done here, so that the demo need not wait.
.venv/for-use: .venv/made pyproject.toml
	$(RUN) -m pip install --quiet --editable .
	$(RUN) -c "import bayesfloor as bf; bf.estimate(*bf.problems.get('moons').sample(1500, 0))"
	@touch $@

.venv/for-%: .venv/made pyproject.toml
	$(RUN) -m pip install --quiet --editable . --group $*
	@touch $@

demo: .venv/for-use
	$(BIN)/bayesfloor demo --force

test: .venv/for-test
	$(RUN) -m pytest --numprocesses auto --dist loadscope -m "not slow"

test-slow: .venv/for-test
	$(RUN) -m pytest --numprocesses auto --dist worksteal -m slow

# Every lower bound of pyproject.toml taken at its word.
.venv-oldest/made: pyproject.toml
	$(PYTHON) -m venv .venv-oldest
	.venv-oldest/bin/python -m pip install --quiet --upgrade 'pip>=25.1'
	.venv-oldest/bin/python tests/oldest_versions.py > .venv-oldest/oldest.txt
	.venv-oldest/bin/python -m pip install --quiet --editable . --group test --constraint .venv-oldest/oldest.txt
	@touch $@

test-oldest: .venv-oldest/made
	.venv-oldest/bin/python -m pytest --numprocesses auto --dist loadscope -m "not slow"

# Nothing may crash, raise what is not the package's own, or be wrong and silent.
fuzz: .venv/for-test
	cd tests && OPENBLAS_NUM_THREADS=1 ../$(RUN) -m fuzz.runner --inputs 20000

check: test lint

lint: .venv/for-dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

# A warning is an error, and so is a link that leads nowhere.
docs: .venv/for-use .venv/for-docs
	$(BIN)/sphinx-build --fail-on-warning --keep-going --quiet -d build/doctrees docs build/site
	$(RUN) docs/check_site.py build/site

dist: .venv/for-test
	rm -rf dist
	$(RUN) -m hatchling build -d dist
	DIST=dist $(RUN) -m pytest -q tests/test_distribution.py
	$(RUN) tests/clean_install.py dist

# MNIST, phoneme and satimage come from OpenML; with copies in a folder: real_data.py mnist --data FOLDER. Teachers,
# real tables and pictures need a folder of data (--data FOLDER, see teachers.py and images.py), and about fourteen hours.
evidence: .venv/for-test .venv/for-bench
	$(RUN) benchmarks/low_dimension.py --out benchmarks/results/low_dimension.md
	$(RUN) benchmarks/teachers.py fit --jobs 2
	$(RUN) benchmarks/teachers.py curves --jobs 2
	$(RUN) benchmarks/floor_evidence.py collect
	$(RUN) benchmarks/floor_evidence.py pack
	$(RUN) benchmarks/images.py run --again
	$(RUN) benchmarks/train_floor.py fit
	$(RUN) benchmarks/train_floor.py open
	$(RUN) benchmarks/real_tables.py reached
	$(RUN) benchmarks/real_tables.py run
	$(RUN) benchmarks/real_tables.py report
	$(RUN) benchmarks/extremes.py run
	$(RUN) benchmarks/extremes.py report
	$(RUN) benchmarks/texts.py run
	$(RUN) benchmarks/texts.py report --out benchmarks/results/texts.md
	$(RUN) benchmarks/levels.py run
	$(RUN) benchmarks/levels.py report --out benchmarks/results/levels.md
	$(RUN) benchmarks/parts.py collect --work build/parts
	$(RUN) benchmarks/parts.py report --work build/parts
	$(RUN) benchmarks/floor_cost.py --out benchmarks/results/floor_cost.md --readme README.md
	$(RUN) benchmarks/first_answer.py --readme README.md
	$(RUN) benchmarks/compare_coverage.py run
	$(RUN) benchmarks/compare_coverage.py report --out benchmarks/results/compare_coverage.md
	$(RUN) benchmarks/columns.py run
	$(RUN) benchmarks/columns.py cost
	$(RUN) benchmarks/columns.py report --out benchmarks/results/columns.md
	$(RUN) benchmarks/noise_line.py run
	$(RUN) benchmarks/noise_line.py report --out benchmarks/results/noise_line.md
	$(RUN) benchmarks/rivals.py run
	$(RUN) benchmarks/rivals.py report --out benchmarks/results/rivals.md
	$(RUN) benchmarks/score_distortions.py --before benchmarks/results/score_distortions_before.json \
	  --out benchmarks/results/score_distortions.md
	$(RUN) benchmarks/real_data.py mnist --out benchmarks/results/mnist.md
	$(RUN) benchmarks/real_data.py fashion_mnist --out benchmarks/results/fashion_mnist.md
	$(RUN) benchmarks/suspect_rows.py --out benchmarks/results/suspect_rows.md
	$(RUN) benchmarks/large_file.py --out benchmarks/results/large_file.md
	$(RUN) benchmarks/report_picture.py
	$(RUN) benchmarks/plan_costs.py measure
	$(RUN) benchmarks/plan_costs.py fit
	$(RUN) benchmarks/scale.py --rows 10000000 --out benchmarks/results/scale.md --docs docs/scale.md
	$(RUN) benchmarks/stopping.py --out benchmarks/results/stopping.md --docs docs/stopping.md
	$(MAKE) leaderboard bench

# dataeval takes part where it is installed, which for-bench does; the file of results makes it resumable.
leaderboard: .venv/for-bench .venv/for-test
	@mkdir -p build docs
	$(RUN) -m bayesfloor.arena --results build/arena.jsonl --leaderboard docs/leaderboard.md --force
	$(RUN) -m bayesfloor.arena --sizes 5000 --n-seeds 3 --estimators "learned floor" --results build/arena_5000.jsonl \
	  --leaderboard docs/leaderboard_5000.md --force
	$(RUN) -m bayesfloor.arena --estimators "benchmark learner" "benchmark learner, paper's radii" "authors' code" \
	  --results build/arena_paper.jsonl --leaderboard docs/leaderboard_paper.md --force
	$(RUN) -m bayesfloor.arena --problems templates many_templates blobs words topics chains \
	  --results build/arena_images_texts.jsonl --leaderboard docs/leaderboard_images_texts.md --force
	$(RUN) benchmarks/readme_figures.py README.md

paper: .venv/for-frameworks .venv/for-test
	$(RUN) -m reproduction all --out docs

frameworks: .venv/for-frameworks

bench: .venv/for-bench
	$(RUN) benchmarks/counting.py --out benchmarks/results/counting.md

clean:
	rm -rf .venv .venv-oldest build dist .pytest_cache .mypy_cache .ruff_cache .hypothesis
	rm -rf docs/tutorial docs/gallery docs/evidence docs/reference/api docs/reference/command docs/reference/doubts
	rm -rf docs/reference/used_in docs/sg_execution_times.rst
