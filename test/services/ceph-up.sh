#!/usr/bin/env bash
# Starts a real S3 server on loopback from Debian 12's own packages: one Ceph monitor, one OSD and one RADOS
# gateway, without systemd or containers. Installs the packages when they are missing (about 61 MB, needs root).
# Prints the S3_* variables of the README's table; everything else goes to stderr.
#
#   CEPH_DIR       state, logs and pids; wiped at every start   (<repo>/.services/ceph)
#   CEPH_RGW_PORT  where the gateway listens                    (7480)
#   CEPH_MON_PORT  the monitor takes this one and the next      (40789)
#   CEPH_DISK_GB   size of the OSD's sparse disk file           (10)
#   S3_BUCKET, S3_REGION, S3_ACCESS_KEY_ID, S3_SECRET_ACCESS_KEY  what to create
#
# Stop it with ceph-down.sh and the same CEPH_DIR.
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
repo=$(cd "$here/../.." && pwd)
dir=${CEPH_DIR:-$repo/.services/ceph}
rgw_port=${CEPH_RGW_PORT:-7480}
mon_port=${CEPH_MON_PORT:-40789}
disk_gb=${CEPH_DISK_GB:-10}
bucket=${S3_BUCKET:-sluice-test}
region=${S3_REGION:-us-east-1}
access_key=${S3_ACCESS_KEY_ID:-SLUICETESTACCESSKEY1}
secret_key=${S3_SECRET_ACCESS_KEY:-sluice-test-secret-key-0123456789abcdefgh}
endpoint=http://127.0.0.1:$rgw_port
conf=$dir/ceph.conf

say() { echo "ceph-up: $* (${SECONDS} s)" >&2; }
fail() { echo "ceph-up: $*" >&2; exit 1; }

install_packages() {
  if command -v ceph-mon ceph-osd radosgw ceph-authtool >/dev/null; then return; fi
  command -v apt-get >/dev/null || fail 'needs the Debian packages ceph-mon, ceph-osd and radosgw'
  [ "$(id -u)" = 0 ] || fail 'run as root once: apt-get install --no-install-recommends ceph-mon ceph-osd radosgw'
  export DEBIAN_FRONTEND=noninteractive
  { apt-get -qq update && apt-get -qq -y install --no-install-recommends ceph-mon ceph-osd radosgw; } \
    >"$dir/log/apt.log" 2>&1 || { tail -n 20 "$dir/log/apt.log" >&2; fail 'the packages could not be installed'; }
  say 'packages installed'
}

# field 22 of /proc/PID/stat: with the pid it names a process for good, even after the pid is used again
start_time() { sed 's/.*) //' "/proc/$1/stat" 2>/dev/null | cut -d' ' -f20; }

refuse_a_second() {
  [ -f "$dir/pids" ] || return 0
  local name pid began
  while read -r name pid began; do
    if [ "$(start_time "$pid")" = "$began" ]; then fail "$name already runs as $pid; stop it with ceph-down.sh"; fi
  done <"$dir/pids"
}

write_conf() {
  cat >"$conf" <<CONF
[global]
fsid = $(cat /proc/sys/kernel/random/uuid)
mon_initial_members = a
mon_host = $mon_address
public_addr = 127.0.0.1
cluster_addr = 127.0.0.1
# loopback and throw-away data: no cephx. The gateway asks the monitor for the encrypted mode, which needs
# cephx, so the plain one must be named.
auth_cluster_required = none
auth_service_required = none
auth_client_required = none
ms_mon_client_mode = crc
ms_mon_service_mode = crc
run_dir = $dir/run
admin_socket = $dir/run/\$name.asok
log_file = $dir/log/\$name.log
crash_dir = $dir/crash
keyring = $dir/keyring
setuser_match_path = $dir
debug_default = 0
# one OSD is the whole cluster
osd_pool_default_size = 1
osd_pool_default_min_size = 1
osd_pool_default_pg_num = 8
osd_pool_default_pgp_num = 8
osd_pool_default_pg_autoscale_mode = off
osd_crush_chooseleaf_type = 0
mon_allow_pool_size_one = true
mon_warn_on_pool_no_redundancy = false
mon_max_pg_per_osd = 2000
# full disks of the host are not our concern
mon_data_avail_warn = 1
mon_data_avail_crit = 0
# map changes at once instead of once a second: pools are made while the gateway starts
paxos_propose_interval = 0.05
paxos_min_wait = 0.01
[mon]
mon_data = $dir/mon
mon_cluster_log_file = $dir/log/cluster.log
[osd]
osd_data = $dir/osd
osd_objectstore = bluestore
osd_memory_target = 939524096
osd_op_num_shards = 2
osd_op_num_threads_per_shard = 2
bluestore_block_create = true
bluestore_block_size = $((disk_gb * 1024 * 1024 * 1024))
bluestore_fsck_on_mount = false
[client]
rgw_data = $dir/rgw
rgw_frontends = beast endpoint=127.0.0.1:$rgw_port
rgw_thread_pool_size = 64
rgw_enable_usage_log = false
rgw_override_bucket_index_max_shards = 1
rgw_dynamic_resharding = false
rgw_gc_obj_min_wait = 60
CONF
}

make_cluster() {
  # librados wants an entry for each name though nothing checks it
  ceph-authtool --create-keyring "$dir/keyring" --gen-key --name mon. --cap mon 'allow *' >/dev/null
  local name
  for name in client.admin client.rgw; do
    ceph-authtool "$dir/keyring" --gen-key --name "$name" --cap mon 'allow *' --cap osd 'allow *' >/dev/null
  done
  local fsid
  fsid=$(sed -n 's/^fsid = //p' "$conf")
  monmaptool --create --clobber --fsid "$fsid" --addv a "$mon_address" "$dir/monmap" >/dev/null
  ceph-mon -f -c "$conf" -i a --mkfs --monmap "$dir/monmap" --keyring "$dir/keyring" >/dev/null
}

# daemon NAME COMMAND...: in a session of its own, so that Ctrl-C reaches only who is to stop it
daemon() {
  local name=$1
  shift
  setsid "$@" >"$dir/log/$name.out" 2>&1 </dev/null &
  echo "$name $! $(start_time $!)" >>"$dir/pids"
}

# until_true SECONDS NAME COMMAND...: gives up early when that daemon has died
until_true() {
  local deadline=$((SECONDS + $1)) name=$2 pid
  shift 2
  pid=$(awk -v name="$name" '$1 == name { print $2 }' "$dir/pids")
  until "$@" >/dev/null 2>&1; do
    kill -0 "$pid" 2>/dev/null || { tail -n 20 "$dir/log/$name.out" >&2; fail "$name died"; }
    [ "$SECONDS" -lt "$deadline" ] || fail "$name took too long: $*"
    sleep 0.2
  done
}

admin() { ceph -c "$conf" --connect-timeout 5 "$@"; }
osd_is_up() { admin osd stat | grep -q '1 up'; }
gateway_answers() { curl -sf -o "$dir/run/answer" --max-time 5 "$endpoint/"; }

make_user_and_bucket() {
  radosgw-admin -c "$conf" user create --uid=sluice --display-name='Sluice tests' \
    --access-key="$access_key" --secret-key="$secret_key" >"$dir/log/user.json" 2>"$dir/log/user.err" \
    || { cat "$dir/log/user.err" >&2; fail 'no user could be made'; }
  local empty_sha256=e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855
  curl -sS --fail-with-body --max-time 30 -o "$dir/log/bucket.xml" -X PUT "$endpoint/$bucket" \
    --aws-sigv4 "aws:amz:$region:s3" --user "$access_key:$secret_key" -H "x-amz-content-sha256: $empty_sha256" \
    || { cat "$dir/log/bucket.xml" >&2; fail 'no bucket could be made'; }
}

refuse_a_second
rm -rf -- "$dir"
mkdir -p "$dir"/{mon,osd,rgw,run,log,crash}
: >"$dir/pids"
# whatever ends this early, a signal too, takes down what was started; the logs stay
started=no
trap '[ $started = yes ] || CEPH_DIR=$dir CEPH_KEEP=1 "$here/ceph-down.sh"' EXIT
trap 'exit 1' INT TERM HUP
install_packages
ulimit -n "$(ulimit -Hn)" || true
export CEPH_CONF=$conf

mon_address="[v2:127.0.0.1:$mon_port,v1:127.0.0.1:$((mon_port + 1))]"
write_conf
make_cluster

daemon mon ceph-mon -f -c "$conf" -i a
until_true 30 mon admin mon stat
osd_uuid=$(cat /proc/sys/kernel/random/uuid)
admin osd new "$osd_uuid" 0 >/dev/null
ceph-osd -f -c "$conf" -i 0 --mkfs --osd-uuid "$osd_uuid" >"$dir/log/mkfs.out" 2>&1 \
  || { tail -n 20 "$dir/log/mkfs.out" >&2; fail 'the OSD could not be made'; }
daemon osd ceph-osd -f -c "$conf" -i 0
until_true 60 osd osd_is_up
say 'monitor and OSD are up'
daemon rgw radosgw -f -c "$conf" -n client.rgw
until_true 90 rgw gateway_answers
make_user_and_bucket
say "gateway listens on $endpoint"

tee "$dir/env" <<ENV
S3_BUCKET=$bucket
S3_ENDPOINT=$endpoint
S3_REGION=$region
S3_ACCESS_KEY_ID=$access_key
S3_SECRET_ACCESS_KEY=$secret_key
S3_FORCE_PATH_STYLE=true
ENV
started=yes
