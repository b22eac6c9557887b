# The few things one does here. `just` alone lists them.
default:
    @just --list

# Everything CI does, in a fresh virtual environment.
ci:
    .ci/run

# The tests that CI runs; arguments go to pytest.
test *args:
    python -m pytest {{args}}

# All tests, also those marked thorough: for a release, and for changes of the engine.
test-all *args:
    python -m pytest -n 2 -m '' {{args}}

# The tests of the engine and of reading, in forty seconds on two cores: for the time while one writes. CI runs more.
test-fast *args:
    python -m pytest -n 2 -q tests/admission tests/cluster tests/custom tests/devices tests/drain tests/engine tests/fit \
        tests/library tests/linter tests/manifests tests/pools tests/scheduler tests/scoring tests/apiserver {{args}}

# Static checks.
check:
    ruff check . && ruff format --check . && mypy && lint-imports

# Regenerate what is generated: the rule index, the options of lint, rules/README.md, the configuration's schema, a table and the pictures.
generate:
    python -m kubesched_lint.rulebook.build
    python -m kubesched_lint.custom.build
    python scripts/lint_options.py
    python -m kubesched_lint.rulebook.cel.page
    python -m kubesched_lint.project.config_schema
    python scripts/site/reference.py
    python scripts/cloud_table.py
    python scripts/draw_pictures.py
    python scripts/draw_proofs.py
    python scripts/calibration.py

# Renew the versions and hashes that CI installs (kubesched_lint/locked). Needs uv and the network.
lock:
    python scripts/lock.py

# The documentation as a site in build/site; a broken link is an error. Needs `pip install -e '.[site]'`.
site:
    sphinx-build -W --keep-going -c scripts/site . build/site

# Begin a shipped rule: its card and its module, which pass `rules test` at once.
new-rule slug:
    python scripts/new_rule.py {{slug}}

# The tests with coverage, three times the CPU; fails below the floor of pyproject.toml (for a part of the tests add
# --cov-fail-under=0). Needs `pip install -e '.[coverage]'`.
coverage *args:
    python -m pytest -n 2 --cov --cov-report=term {{args}}

# Compare what two versions say, byte by byte, for example `just same main .`
same old new *args:
    python scripts/same_output.py {{old}} {{new}} {{args}}

# Count instructions and compare them with benchmarks/gate.json. Needs valgrind; `just gate --write` sets a new baseline.
gate *args:
    python benchmarks/gate.py {{args}}

# Build and try what a release publishes, without tests: sdist, wheel, krew's archive and manifest, the image.
artifacts dist:
    python scripts/artifacts.py {{dist}}

# Check, test, build (as `just artifacts dist`) and tag a version; pushes nothing. `just release 0.2.0 --dry-run` changes nothing.
release version *args:
    python scripts/release.py {{version}} {{args}}
