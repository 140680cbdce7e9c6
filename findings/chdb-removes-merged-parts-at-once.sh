#!/usr/bin/env bash
# chdb 3.4.0 (npm), the embedded ClickHouse 26.7.2.1: how long the parts that a merge replaced are kept.
#
# Expected: 480 seconds, the default of old_parts_lifetime
# (https://clickhouse.com/docs/operations/settings/merge-tree-settings#old_parts_lifetime). Merged parts are not synced by
# default, and ClickHouse goes back to the old ones if a power cut damages the new one.
# Seen: the default is 0, and is not marked as changed. The next cleanup removes the old parts, while the bytes of the part
# in their place may still be in the page cache only. So rows whose inserts were synced (fsync_after_insert) can get lost.
# With the setting at 480, or with min_rows_to_fsync_after_merge, they can't.
#
# Output seen: parts that are not active, each second after five inserts and OPTIMIZE FINAL
#   default 0, changed 0: 5 then 0
#   set to 480: 5 then 5
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
npm init --yes >/dev/null
npm install --silent --no-audit --no-fund chdb@3.4.0 >/dev/null
cat >parts.mjs <<'JS'
import { Session } from 'chdb';

const setting = "FROM system.merge_tree_settings WHERE name = 'old_parts_lifetime'";
for (const lifetime of ['', ', old_parts_lifetime = 480']) {
  const session = new Session(`store${lifetime.length}`);
  const one = (sql) => session.query(sql, 'TSV').trim();
  session.query('CREATE DATABASE d');
  session.query(`CREATE TABLE d.t (id UInt64) ENGINE = MergeTree ORDER BY id SETTINGS cleanup_delay_period = 1,
    max_cleanup_delay_period = 1, cleanup_delay_period_random_add = 0${lifetime}`);
  for (let id = 0; id < 5; id++) session.query(`INSERT INTO d.t VALUES (${id})`);
  session.query('OPTIMIZE TABLE d.t FINAL');
  const counts = [];
  for (let second = 0; second < 10; second++) {
    counts.push(Number(one("SELECT count() FROM system.parts WHERE database = 'd' AND NOT active")));
    await new Promise((resolve) => setTimeout(resolve, 1000));
  }
  const name = lifetime === '' ? `default ${one(`SELECT value ${setting}`)}, changed ${one(`SELECT changed ${setting}`)}` : 'set to 480';
  console.log(`${name}: ${Math.max(...counts)} then ${counts.at(-1)}`);
  session.close?.();
}
JS
node parts.mjs | tee output
diff output - <<'TEXT'
default 0, changed 0: 5 then 0
set to 480: 5 then 5
TEXT
