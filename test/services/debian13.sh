#!/usr/bin/env bash
# Runs a command in a root of Debian 13 with Node 24, over this checkout and its node_modules:
#   test/services/debian13.sh node main.ts
# The root is made once, of Debian's packages from the mirror that apt uses here, and of the npm package of Node's binary.
# It takes root, and debootstrap, which is installed where it is missing. Where there is no root and none can be made, one
# line says NOT TESTED, and the status is 0. Commands have a network of their own, with the receive buffer that
# docs/operations.md recommends.
#
#   DEBIAN13_DIR   where roots are kept   (~/.cache/sluice)
set -euo pipefail

node=24.21.0
repo=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
cache=${DEBIAN13_DIR:-${XDG_CACHE_HOME:-$HOME/.cache}/sluice}
root=$cache/debian13-node-$node

not_tested() { echo "NOT TESTED on Debian 13: $*" >&2; exit 0; }

make_root() {
  local root=$1 node=$2 package mirror proxy
  if ! command -v debootstrap >/dev/null; then
    apt-get -qq update && DEBIAN_FRONTEND=noninteractive apt-get -qq -y install --no-install-recommends debootstrap
  fi
  proxy=$(apt-config dump --format '%v' Acquire::http::Proxy)
  [ -z "$proxy" ] || export http_proxy=$proxy
  mirror=$(apt-get indextargets --format '$(LABEL) $(REPO_URI)' 'Created-By: Packages' | awk '$1 == "Debian" { uri = $2 } END { print uri }')
  debootstrap --variant=minbase --include=ca-certificates,curl,openssl,procps trixie "$root" ${mirror:+"$mirror"}
  cp /etc/hosts "$root/etc/hosts"
  package=node-linux-$(uname -m | sed 's/x86_64/x64/; s/aarch64/arm64/')
  npm install --no-save --ignore-scripts --no-audit --no-fund --prefix "$root/opt/node" "$package@$node"
  ln -s "/opt/node/node_modules/$package/bin/node" "$root/usr/local/bin/node"
  chroot "$root" node --version
}

# The paths are the same inside, so that reports and caches are.
run_inside() {
  local root=$1 repo=$2
  shift 2
  ip link set lo up
  echo '4096 131072 524288' >/proc/sys/net/ipv4/tcp_rmem
  mount -t proc proc "$root/proc"
  for folder in /dev /sys /tmp; do mount --rbind "$folder" "$root$folder"; done
  mkdir -p "$root$repo"
  mount --rbind "$repo" "$root$repo"
  # not exec: the first process of its namespace has to be one that collects orphans, which bash does
  exec env -u NODE_OPTIONS PATH=/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin \
    chroot "$root" bash -c 'cd "$1" && shift && "$@"; exit $?' bash "$repo" "$@"
}
export -f make_root run_inside

[ "$(uname -s)" = Linux ] && [ "$(id -u)" = 0 ] || not_tested 'it takes root on Linux'
# mounts and processes end with what made them
unshare --mount --pid --net --fork true 2>/dev/null || not_tested 'this machine allows no mounts or networks'
command -v ip >/dev/null || { apt-get -qq update && DEBIAN_FRONTEND=noninteractive apt-get -qq -y install --no-install-recommends iproute2; } >&2
mkdir -p "$cache"
exec 9>"$cache/lock"
flock 9
if [ ! -d "$root" ]; then
  rm -rf --one-file-system -- "$root.unfinished"
  timeout 300 unshare --mount --pid --fork --kill-child \
    bash -euo pipefail -c 'make_root "$@"' bash "$root.unfinished" "$node" >"$cache/log.txt" 2>&1 ||
    not_tested "there is no root: $(tail -1 "$cache/log.txt")"
  mv "$root.unfinished" "$root"
fi
exec 9>&-
inside=(unshare --mount --pid --net --fork --kill-child bash -euc 'run_inside "$@"' bash "$root" "$repo")
"${inside[@]}" node --version >/dev/null || not_tested 'Node does not run in its root'
exec "${inside[@]}" "$@"
