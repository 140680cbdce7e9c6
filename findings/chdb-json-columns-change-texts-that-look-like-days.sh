#!/usr/bin/env bash
# chdb 3.4.0 (npm), engine 26.7.2: texts in a column of the type JSON, with the default settings.
#
# Expected: a text is given back as it was stored, or, where a day is inferred from it, as the same day.
# Seen: 30 February becomes 2 March, while 32 January stays as it is, and 1/2/2026 is 1 February. A day before 1970 becomes a
# time of nine digits; so does a day of another row that comes in the same block. The text that was stored is found with =, but
# so are texts that were not. JSON of ClickHouse with input_format_try_infer_dates = 0 and input_format_try_infer_datetimes = 0,
# or a path that is declared as String, keeps all of them.
#
# Output seen: stored, given back, given back without inference
#   2026-02-30 | 2026-03-02 | 2026-02-30
#   2026-01-32 | 2026-01-32 | 2026-01-32
#   2026-2-3 | 2026-02-03 | 2026-2-3
#   1/2/2026 | 2026-02-01 00:00:00 | 1/2/2026
#   1969-12-31 | 1969-12-31 00:00:00.000000000 | 1969-12-31
#   1970-01-02 | 1970-01-02 | 1970-01-02
#   two rows: 1970-01-02 00:00:00.000000000
#   equal to 2026-02-30: 2026-03-02 2026-03-02
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
npm init --yes >/dev/null
npm install --silent --no-audit --no-fund chdb@3.4.0 >/dev/null
cat >texts.mjs <<'JS'
import { Session } from 'chdb';

const session = new Session('store');
const none = ' SETTINGS input_format_try_infer_dates = 0, input_format_try_infer_datetimes = 0';
let tables = 0;
function given(texts, settings = '', where = '') {
  const table = `t${tables++}`;
  session.query(`CREATE TABLE ${table} (id UInt64, j JSON) ENGINE = MergeTree ORDER BY id`);
  const lines = texts.map((day, id) => JSON.stringify({ id, j: { day } }));
  session.query(`INSERT INTO ${table}${settings} FORMAT JSONEachRow ${lines.join(' ')}`);
  const sql = `SELECT toJSONString(j) AS text FROM ${table} ${where} ORDER BY id`;
  const found = String(session.query(sql, 'TSVRaw')).trim().split('\n');
  return found.map((line) => JSON.parse(line).day);
}
for (const text of ['2026-02-30', '2026-01-32', '2026-2-3', '1/2/2026', '1969-12-31', '1970-01-02'])
  console.log(`${text} | ${given([text])} | ${given([text], none)}`);
console.log(`two rows: ${given(['1969-12-31', '1970-01-02'])[1]}`);
console.log(`equal to 2026-02-30: ${given(['2026-02-30', '2026-03-02'], '', "WHERE j.day = '2026-02-30'").join(' ')}`);
session.close?.();
JS
node texts.mjs | tee output
diff output - <<'TEXT'
2026-02-30 | 2026-03-02 | 2026-02-30
2026-01-32 | 2026-01-32 | 2026-01-32
2026-2-3 | 2026-02-03 | 2026-2-3
1/2/2026 | 2026-02-01 00:00:00 | 1/2/2026
1969-12-31 | 1969-12-31 00:00:00.000000000 | 1969-12-31
1970-01-02 | 1970-01-02 | 1970-01-02
two rows: 1970-01-02 00:00:00.000000000
equal to 2026-02-30: 2026-03-02 2026-03-02
TEXT
