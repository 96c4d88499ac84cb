#!/bin/sh
# kxm-memory pre-commit hook, version 1
# Blocks a commit that stages a malformed fact, a secret, or facts that the
# instruction files do not show. "kxm-memory hook uninstall" removes it;
# "git commit --no-verify" goes past it once.

before=$(dirname "$0")/pre-commit.before-kxm
if [ -x "$before" ]; then
  "$before" "$@" || exit
fi

kxm=$(command -v kxm-memory) || kxm=PROGRAM
if [ ! -x "$kxm" ]; then
  echo "pre-commit: kxm-memory is not on the path; install it, or commit with --no-verify" >&2
  exit 1
fi

"$kxm" check --staged --format text >&2 || exit
exec "$kxm" sync --check --staged --format text >&2
