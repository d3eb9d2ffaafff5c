# Everything a person or a CI runs. Each target does its own set-up: a Rust toolchain is all it asks for.

TARGET := $(abspath $(or $(CARGO_TARGET_DIR),target))

# Where `make install` puts things; DESTDIR is for packagers.
PREFIX ?= /usr/local
DESTDIR ?=
# What is installed: `make install BINARY=...` takes another, such as the static one.
BINARY ?= $(TARGET)/release/unblink

MUSL := $(shell uname -m)-unknown-linux-musl
STATIC := $(TARGET)/$(MUSL)/release/unblink
# Where systems keep the certificates that they trust.
CERTIFICATES = $(firstword $(wildcard /etc/ssl/certs/ca-certificates.crt /etc/pki/tls/certs/ca-bundle.crt /etc/ssl/cert.pem))

# Where Debian puts nginx; an ordinary user's PATH may lack it.
export PATH := $(PATH):/usr/sbin

.NOTPARALLEL:
.PHONY: help setup build static image install demo test test-cassandra test-kubernetes lint check-oracle bench lab lab-article

help: ## what there is to run (this list)
	@sed -n 's/^\([a-z-]*\):.*## /\1\t/p' Makefile | awk -F'\t' '{ printf "make %-16s %s\n", $$1, $$2 }'

setup: ## check for what building and testing need, and install what is missing where possible
	@tools/setup build lint test

build: ## the release binary, target/release/unblink
	@tools/setup build
	cargo build --release --locked --package unblink

# musl-gcc compiles the C of TLS, SQLite and Lua; where musl is the system's own C library, cc does. LuaJIT links a program of its
# own, too, which nobody runs; in it, Debian's libgcc asks for a function that musl lacks.
static: ## one file that needs no library: target/*-unknown-linux-musl/release/unblink
	@tools/setup static
	cc=$$(command -v musl-gcc || echo cc) && \
	env CC_$(subst -,_,$(MUSL))=$$cc TARGET_LD="$$cc -Wl,--defsym=_dl_find_object=0" \
		cargo build --release --locked --package unblink --target $(MUSL)

image: static ## a container image with that file in it and no system (podman or docker)
	mkdir -p $(TARGET)/image
	cp $(STATIC) $(TARGET)/image/unblink
	cp $(or $(CERTIFICATES),$(error no certificates: install ca-certificates)) $(TARGET)/image/ca-certificates.crt
	$$(command -v podman || echo docker) build -t unblink -f Containerfile $(TARGET)/image

install: ## binary, manual pages and completions into /usr/local (PREFIX=, DESTDIR=)
	@test -x $(BINARY) || $(MAKE) build
	install -D -m 755 $(BINARY) $(DESTDIR)$(PREFIX)/bin/unblink
	$(BINARY) man -o $(DESTDIR)$(PREFIX)/share/man/man1
	install -d $(addprefix $(DESTDIR)$(PREFIX)/share/,bash-completion/completions zsh/site-functions fish/vendor_completions.d)
	$(BINARY) completions bash >$(DESTDIR)$(PREFIX)/share/bash-completion/completions/unblink
	$(BINARY) completions zsh >$(DESTDIR)$(PREFIX)/share/zsh/site-functions/_unblink
	$(BINARY) completions fish >$(DESTDIR)$(PREFIX)/share/fish/vendor_completions.d/unblink.fish

demo: build ## a stalling server, measured wrongly and rightly, side by side
	$(TARGET)/release/unblink demo

lint: ## formatting, clippy, and what cargo-deny holds
	@tools/setup build lint
	cargo fmt --all --check
	cargo clippy --workspace --all-targets --locked --quiet -- -D warnings
	@tools/deny

# The binary is built with the tests, so that the flags in the documents are checked against this very build.
test: lint ## everything that CI runs
	@tools/setup test
	cargo build --workspace --all-targets --locked
	UNBLINK_BIN=$(TARGET)/debug/unblink $(TARGET)/debug/xtask check
	UNBLINK_BIN=$(TARGET)/debug/unblink tools/test
	@echo 'make test: everything passed'

test-cassandra: ## CQL against a real Cassandra, which it fetches from Maven Central, starts and ends
	@tools/setup build
	@tools/test-cassandra

test-kubernetes: ## unblink k8s on a cluster whose API server, controllers and scheduler it builds from Kubernetes' sources (10 minutes, once)
	@tools/setup build test
	cargo build --workspace --all-targets --locked
	@UNBLINK=$(TARGET)/debug/unblink tools/test-kubernetes

check-oracle: build ## measured percentiles beside the exact ones, 18 minutes (ORACLE='--runs 1 stall': less)
	cargo run --release --locked --quiet --package unblink --example check_oracle -- $(TARGET)/release/unblink $(ORACLE)

bench: build ## unblink beside other load generators, 15 minutes (BENCH='throughput --rounds 3': less)
	@tools/setup test
	cargo build --release --locked --package unblink-bench
	$(TARGET)/release/unblink-bench run --unblink $(TARGET)/release/unblink --output $(TARGET)/bench $(BENCH)

lab: build ## every load tool beside a known truth, hours (LAB='stall --short': less)
	@# 3: a tool gave no figures, which the tables say; the others' count all the same.
	$(TARGET)/release/unblink lab run -o $(TARGET)/lab $(or $(LAB),all --runs 3) || [ $$? -eq 3 ]
	rm -f docs/lab/*.svg
	cp $(TARGET)/lab/*.svg $(TARGET)/lab/results.md docs/lab/

lab-article: build ## the published experiment in full: six scenarios, thirteen tools, three runs of 60 s, 4 hours (RUNS=1: less)
	$(TARGET)/release/unblink lab run stall pauses ramp healthy saturation headroom --runs $(or $(RUNS),3) --tool crates/lab/tools/article \
		--tools ab-count,ab-time,wrk,hey,jmeter-threads-warm,k6-constant-vus,k6-starved,k6-arrival-rate,vegeta,jmeter-open-warm,jmeter-precise,wrk2,unblink-open \
		-o $(TARGET)/lab-article || [ $$? -eq 3 ]
	rm -rf docs/lab/article/*.svg
	mkdir -p docs/lab/article
	cp $(TARGET)/lab-article/*.svg $(TARGET)/lab-article/results.md docs/lab/article/
