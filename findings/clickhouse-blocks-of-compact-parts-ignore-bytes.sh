#!/usr/bin/env bash
# chdb 3.4.0 (npm; ClickHouse 26.7.2.1): preferred_block_size_bytes, and parts of a table in compact form.
#
# Expected: the setting bounds the blocks of a SELECT by bytes, whatever form a part has: each of 30 rows of a megabyte is a
# granule of its own (index_granularity_bytes of 1 MiB), so a preferred size of 64 KiB gives blocks of one row.
# Seen: so it is with a wide part. Of a compact part all 30 rows come in one block: there the sizes of columns are not known,
# and only max_block_size counts. A table with small parts and large values is read with the memory of its whole parts.
#
# Output seen:
#   wide: 31 marks, blocks of 1 row at most
#   compact: 31 marks, blocks of 30 rows at most
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
npm init --yes >/dev/null
npm install --silent --no-audit --no-fund chdb@3.4.0
cat >blocks.cjs <<'JAVASCRIPT'
const { Session } = require('chdb');

const session = new Session(`${process.cwd()}/data`);
const ask = (sql) => String(session.query(sql, 'TSV').text?.() ?? session.query(sql, 'TSV')).trim();
const settings = 'max_threads = 1, max_block_size = 2048, preferred_block_size_bytes = 65536';
for (const [table, least] of [['wide', 0], ['compact', 1e9]]) {
  session.query(`CREATE TABLE ${table} (id UInt64, text String) ENGINE = MergeTree ORDER BY id
    SETTINGS index_granularity_bytes = 1048576, min_bytes_for_wide_part = ${least}`);
  session.query(`INSERT INTO ${table} SELECT number, repeat('x', 1000000) FROM numbers(30)`);
  const part = `system.parts WHERE active AND table = '${table}'`;
  const [form, marks] = ask(`SELECT lower(part_type), marks FROM ${part}`).split('\t');
  const most = ask(`SELECT max(blockSize()) FROM ${table} WHERE NOT ignore(text) SETTINGS ${settings}`);
  console.log(`${form}: ${marks} marks, blocks of ${most} ${most === '1' ? 'row' : 'rows'} at most`);
}
process.exit();
JAVASCRIPT
node blocks.cjs | tee output
diff output - <<'TEXT'
wide: 31 marks, blocks of 1 row at most
compact: 31 marks, blocks of 30 rows at most
TEXT
