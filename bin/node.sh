#!/bin/sh
# Runs Node, or says in one line why it cannot: `sh bin/node.sh [--settings] [OPTION…] FILE [ARGUMENT…]`.
#
# `npm ci` installs the Node that this project is pinned to: an optional package for the platform (node-<platform>-<arch> in
# package.json), with its hash in the lock file and without an install script. It is in node_modules/.bin, which comes first
# here. Where there is no such package, and after `npm ci --omit=optional`, the machine's own Node runs.
set -u
oldest=24.7
PATH="$(dirname "$0")/../node_modules/.bin:$PATH"

fail() {
  echo "$1" >&2
  exit 2
}

version=$(node --version 2>/dev/null)
case $version in
  v[0-9]*) major=${version#v} minor=${major#*.} major=${major%%.*} minor=${minor%%.*} ;;
  *) fail "Node $oldest or later is needed, and no Node runs here: install one, then run npm ci --omit=optional" ;;
esac
if [ "$major" -lt "${oldest%.*}" ] || { [ "$major" -eq "${oldest%.*}" ] && [ "$minor" -lt "${oldest#*.}" ]; }; then
  fail "Node $oldest or later is required, this is $version: run npm ci, which installs it, or put a later Node on the PATH"
fi

# The settings in .env. Node's own --env-file-if-exists writes a line to standard error if the file is missing.
if [ "${1-}" = --settings ]; then
  shift
  if [ -e .env ]; then set -- --env-file=.env "$@"; fi
fi
exec node "$@"
