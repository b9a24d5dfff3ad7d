#!/bin/sh
# Tests sapwood with DuckDB, Polars, graphed, dask of two years, parsl, loky, coffea, and the uproot before the newest one,
# each in an environment of its own:
#   ecosystem_engines.sh [PYTHON]
# Arguments of pytest come from the variable PYTEST_ARGUMENTS.
set -eu
cd "$(dirname "$0")/.."
python=${1:-.venv/bin/python}
common="numpy awkward pyarrow pandas uproot hist pytest"

# run_tests ENVIRONMENT PACKAGES TESTS
run_tests() {
    folder=build/$1
    if [ ! -x "$folder/bin/python" ]; then
        echo "installing $2 into $folder"
        "$python" -m venv "$folder"
        # shellcheck disable=SC2086 # names of packages
        "$folder/bin/python" -m pip install --quiet --disable-pip-version-check $common $2
    fi
    # The checkout itself, with the core that `make build` compiled for every Python.
    site=$("$folder/bin/python" -c 'import sysconfig; print(sysconfig.get_path("purelib"))')
    echo "$PWD/python" >"$site/sapwood-checkout.pth"
    "$folder/bin/python" -m pip list 2>/dev/null | grep -iE '^(duckdb|polars|distributed|graphed|pyarrow|coffea) ' || true
    # shellcheck disable=SC2086 # names of tests, arguments of pytest
    "$folder/bin/python" -m pytest -q -p no:cacheprovider -o filterwarnings=default $3 ${PYTEST_ARGUMENTS:-}
}

run_tests engines "duckdb polars distributed graphed graphed-executors loky parsl" tests/engines
run_tests coffea "coffea[dask-awkward]" "tests/engines/test_guides.py tests/engines/test_runner.py tests/python/test_nanoevents.py"
run_tests dask2025 "distributed==2025.3.1 dask==2025.3.1" tests/engines/test_dask.py
run_tests uproot "uproot==5.7.6 aiohttp requests" "tests/python/test_uproot_names.py tests/python/test_uproot_remote.py tests/python/test_uproot_switch.py"
