#!/usr/bin/env bash
# chdb 3.4.0 (npm), the embedded ClickHouse 26.7.2.1: the result of a statement after one that failed while it was computed.
#
# Expected: the result of a statement is that of this statement, whatever happened to an earlier one.
# Seen: formats that end with something (JSON, JSONEachRow with output_format_json_array_of_rows, CSVWithNames) are ended
# when their statement fails, and what was written so far comes in front of the next result. So JSON.parse fails for a good
# statement, and a CSV has a line of another one. A statement that fails before it is computed (an unknown column) leaves
# nothing behind, nor do JSONEachRow without the setting and TSV. The statement after the next one is good again.
#
# Output seen: for each format, the result of SELECT 2 after a failed one, and after that
#   JSON array of rows: [][{"a":2}] then [{"a":3}]
#   CSVWithNames: "a" 2 then 3
#   JSONEachRow: {"a":2} then {"a":3}
#   after an unknown column: [{"a":2}] then [{"a":3}]
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
npm init --yes >/dev/null
npm install --silent --no-audit --no-fund chdb@3.4.0 >/dev/null
cat >after.mjs <<'JS'
import { Session } from 'chdb';

const session = new Session('store');
const array = ' SETTINGS output_format_json_array_of_rows = 1';
const late = 'SELECT throwIf(number = 0) AS a FROM numbers(1)';
const run = (sql, format) => String(session.query(sql, format)).replace(/\s+/g, ' ').replace(/ ?([[\]{}]) ?/g, '$1').trim();
for (const [name, failing, failed, next, settings = ''] of [
  ['JSON array of rows', late + array, 'JSONEachRow', 'JSONEachRow', array],
  ['CSVWithNames', late, 'CSVWithNames', 'CSV'],
  ['JSONEachRow', late, 'JSONEachRow', 'JSONEachRow'],
  ['after an unknown column', `SELECT nosuch${array}`, 'JSONEachRow', 'JSONEachRow', array],
]) {
  let isRefused = false;
  try {
    session.query(failing, failed);
  } catch {
    isRefused = true;
  }
  if (!isRefused) throw new Error('the statement was to fail');
  console.log(`${name}: ${run(`SELECT 2 AS a${settings}`, next)} then ${run(`SELECT 3 AS a${settings}`, next)}`);
}
session.close?.();
JS
node after.mjs | tee output
diff output - <<'TEXT'
JSON array of rows: [][{"a":2}] then [{"a":3}]
CSVWithNames: "a" 2 then 3
JSONEachRow: {"a":2} then {"a":3}
after an unknown column: [{"a":2}] then [{"a":3}]
TEXT
