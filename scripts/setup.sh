#!/usr/bin/env bash
# Installs from Debian what is missing of the build's and the tests' needs. Quick when all is there.
# Rust is the one thing asked for beforehand: distributions carry too old a one.
set -euo pipefail

need_rust=1.85
rust_hint="Install Rust $need_rust or later (https://rustup.rs, or your distribution's rustup package), then run this again."
if ! command -v cargo >/dev/null 2>&1; then
  echo "cargo was not found. $rust_hint" >&2
  exit 1
fi
rust=$(rustc --version | awk '{print $2}')
if [ "$(printf '%s\n%s\n' "$need_rust" "${rust%%-*}" | sort -V | head -n 1)" != "$need_rust" ]; then
  echo "Rust $rust is too old. $rust_hint" >&2
  exit 1
fi
for component in rustfmt clippy; do
  if ! cargo "${component/rustfmt/fmt}" --version >/dev/null 2>&1; then
    rustup component add "$component" || { echo "$component is missing: rustup component add $component" >&2; exit 1; }
  fi
done

# package: what shows that it is there
missing=()
want() {
  local package=$1 path=$2
  compgen -G "$path" >/dev/null || missing+=("$package")
}
want gcc '/usr/bin/gcc'
want libc6-dev '/usr/include/stdio.h'
want git '/usr/bin/git'
want postgresql-15 '/usr/lib/postgresql/15/bin/postgres'
want postgresql-15 '/usr/share/postgresql/15/extension/pg_walinspect.control'
want odbc-postgresql '/usr/lib/*/odbc/psqlodbcw.so'
want unixodbc '/usr/bin/odbcinst'
want unixodbc-dev '/usr/lib/*/libodbc.so'
want maven '/usr/bin/mvn'
want procps '/usr/bin/pgrep'
want locales '/usr/share/i18n/locales/en_US'
# Any JDK from 17 on serves.
if ! command -v javac >/dev/null 2>&1 || [ "$(javac -version 2>&1 | sed 's/[^0-9]*\([0-9]*\).*/\1/')" -lt 17 ]; then
  missing+=(openjdk-17-jdk-headless)
fi
# A collation of libc that is not bytewise, for keys of text.
has_language() { locale -a | grep -qix 'en_US\.utf-\?8'; }
if [ ${#missing[@]} -eq 0 ] && has_language; then
  exit 0
fi

if ! command -v apt-get >/dev/null 2>&1; then
  echo "This is not Debian; please install what corresponds to: ${missing[*]} (and the locale en_US.UTF-8)" >&2
  exit 1
fi
root=()
if [ "$(id -u)" -ne 0 ]; then
  command -v sudo >/dev/null 2>&1 || { echo "Please install as root: apt-get install ${missing[*]}; localedef -i en_US -f UTF-8 en_US.UTF-8" >&2; exit 1; }
  root=(sudo)
fi
if [ ${#missing[@]} -gt 0 ]; then
  echo "installing ${missing[*]}"
  # The package would make and start a cluster of its own; tests make theirs.
  if [ ! -e /etc/postgresql-common/createcluster.conf ]; then
    "${root[@]}" mkdir -p /etc/postgresql-common
    echo 'create_main_cluster = false' | "${root[@]}" tee /etc/postgresql-common/createcluster.conf >/dev/null
  fi
  "${root[@]}" env DEBIAN_FRONTEND=noninteractive sh -c \
    "apt-get update -qq && apt-get install -y -qq --no-install-recommends ${missing[*]}" >/dev/null
fi
has_language || "${root[@]}" localedef -i en_US -f UTF-8 en_US.UTF-8
