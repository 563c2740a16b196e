# The two commands of the README are `make demo` and `make test`; each installs what it needs.
SHELL := /bin/bash
.SHELLFLAGS := -euo pipefail -c
.DELETE_ON_ERROR:

MVN := mvn -B -q --no-transfer-progress -Dstyle.color=never
FLINK2 := 2.3.0

.PHONY: help setup demo playground stand-in test test-rust test-stand-in test-java bench savepoints fmt jar clean

help:
	@echo 'make setup   install what is missing (Debian packages)'
	@echo 'make demo    a Flink SQL job over the stand-in; ARGS="--rows 1000000 --seconds 60"'
	@echo 'make playground   a database, a Flink cluster, its SQL client; DATABASE=postgres, FILE=script.sql, FLINK_VERSION=2.3.0'
	@echo 'make stand-in     the database alone, and how to connect to it'
	@echo 'make test    everything that CI runs'
	@echo 'make bench   side by side with peers, ratios printed'
	@echo 'make savepoints   those of this version, which tests restore from then on'
	@echo 'make fmt     format Rust and Java'
	@echo 'make jar     the connector: java/target/flink-connector-tidemark-*.jar'

setup:
	@scripts/setup.sh

jar: setup
	@$(MVN) package -DskipTests

demo: setup
	@scripts/demo.sh $(ARGS)

playground: setup
	@scripts/playground.sh

stand-in: setup
	@DATABASE_ONLY=1 scripts/playground.sh

test: test-rust test-stand-in test-java

test-rust: setup
	cargo fmt --check
	cargo clippy --locked --all-targets -- -D warnings
	cargo test --locked

test-stand-in: setup
	sql/logminer/test/run.sh
	sql/kingbase/test/run.sh

test-java: setup
	scripts/test-java.sh $(FLINK2)

bench: setup
	benches/run.sh $(ARGS)

savepoints: setup
	scripts/savepoints.sh

fmt: setup
	cargo fmt
	$(MVN) spotless:apply

clean:
	rm -rf target java/target
