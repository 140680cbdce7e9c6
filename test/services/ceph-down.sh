#!/usr/bin/env bash
# Stops what ceph-up.sh started, last one first, and nothing else; then removes its folder.
#   CEPH_DIR   the folder given to ceph-up.sh (<repo>/.services/ceph)
#   CEPH_KEEP  set to 1 to keep the folder, for its logs
set -euo pipefail

repo=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
dir=${CEPH_DIR:-$repo/.services/ceph}
[ -f "$dir/pids" ] || exit 0

# ours only while the start time is the one that was recorded: pids come round again
ours() { [ "$(sed 's/.*) //' "/proc/$1/stat" 2>/dev/null | cut -d' ' -f20)" = "$2" ]; }

tac "$dir/pids" | while read -r name pid began; do
  ours "$pid" "$began" || continue
  kill -TERM "$pid" || continue
  for _ in $(seq 100); do
    ours "$pid" "$began" || continue 2
    sleep 0.1
  done
  echo "ceph-down: $name did not stop in 10 s and is killed" >&2
  kill -KILL "$pid" || true
done

rm -f -- "$dir/pids"
[ "${CEPH_KEEP:-0}" = 1 ] || rm -rf -- "$dir"
