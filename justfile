# The few things one does here. `just` alone lists them.
default:
    @just --list

# Everything CI does, in a fresh virtual environment.
ci:
    .ci/run

# The tests; arguments go to pytest.
test *args:
    python -m pytest {{args}}

# Static checks.
check:
    ruff check . && ruff format --check . && mypy && lint-imports

# Regenerate what is generated: the rule index, rules/README.md, the configuration's schema and the pictures.
generate:
    python -m kubesched_lint.rulebook.build
    python -m kubesched_lint.rulebook.cel.page
    python -m kubesched_lint.engine.config_schema
    python scripts/draw_pictures.py
