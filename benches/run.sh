#!/usr/bin/env bash
# make bench: every comparison side by side in one run, ratios printed.
set -euo pipefail
cd "$(dirname "$0")/.."
cargo bench --locked --bench redo_parser -- "$@"
