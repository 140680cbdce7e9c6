#!/usr/bin/env bash
# chdb 3.4.0 (npm), engine 26.7.2, reads an Arrow file of apache-arrow 21.2.0 (npm): dates in milliseconds (Date64).
#
# Expected: a Date32 or a DateTime64, as for dates in days and for timestamps, or an error for days that the type does not have:
# days of an Arrow Date32 that ClickHouse does not have are one (error 321).
# Seen: the type is a DateTime of 32 bits without a sign, and days outside it wrap, without a message. The last day of 1969 is in
# 2106, and a day of 2106 in 1970. It stays so if the column is asked for as Date32 or DateTime64, whose ranges hold the days, and
# with date_time_overflow_behavior = 'throw'.
#
# Output seen: 1969-12-31, 2026-02-03 and 2106-02-08, as each type
#   inferred: Nullable(DateTime) 2106-02-06 06:28:16, 2026-02-03 00:00:00, 1970-01-01 17:31:44
#   throw: Nullable(DateTime) 2106-02-06 06:28:16, 2026-02-03 00:00:00, 1970-01-01 17:31:44
#   Date32: Date32 2106-02-06, 2026-02-03, 1970-01-01
#   DateTime64(3): DateTime64(3) 2106-02-06 06:28:16.000, 2026-02-03 00:00:00.000, 1970-01-01 17:31:44.000
#   in days: Nullable(Date32) 1969-12-31, 2026-02-03, 2106-02-08
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
npm init --yes >/dev/null
npm install --silent --no-audit --no-fund chdb@3.4.0 apache-arrow@21.2.0 >/dev/null
cat >days.mjs <<'JS'
import { writeFileSync } from 'node:fs';
import { DateDay, DateMillisecond, Table, tableToIPC, vectorFromArray } from 'apache-arrow';
import { query } from 'chdb';

const days = ['1969-12-31', '2026-02-03', '2106-02-08'].map((day) => new Date(day));
for (const [file, type] of [['milliseconds', new DateMillisecond()], ['days', new DateDay()]])
  writeFileSync(`${file}.arrow`, tableToIPC(new Table({ day: vectorFromArray(days, type) }), 'file'));
for (const [name, file, structure = '', settings = ''] of [
  ['inferred', 'milliseconds'],
  ['throw', 'milliseconds', '', ", date_time_overflow_behavior = 'throw'"],
  ['Date32', 'milliseconds', ", 'day Date32'"],
  ['DateTime64(3)', 'milliseconds', ", 'day DateTime64(3)'"],
  ['in days', 'days'],
]) {
  const from = `file('${process.cwd()}/${file}.arrow', 'Arrow'${structure})`;
  const values = "any(toTypeName(day)), arrayStringConcat(groupArray(toString(day)), ', ')";
  const text = query(`SELECT ${values} FROM ${from} SETTINGS session_timezone = 'UTC'${settings}`, 'TSVRaw');
  console.log(`${name}: ${String(text).trim().replace('\t', ' ')}`);
}
JS
TZ=UTC node days.mjs | tee output
diff output - <<'TEXT'
inferred: Nullable(DateTime) 2106-02-06 06:28:16, 2026-02-03 00:00:00, 1970-01-01 17:31:44
throw: Nullable(DateTime) 2106-02-06 06:28:16, 2026-02-03 00:00:00, 1970-01-01 17:31:44
Date32: Date32 2106-02-06, 2026-02-03, 1970-01-01
DateTime64(3): DateTime64(3) 2106-02-06 06:28:16.000, 2026-02-03 00:00:00.000, 1970-01-01 17:31:44.000
in days: Nullable(Date32) 1969-12-31, 2026-02-03, 2106-02-08
TEXT
