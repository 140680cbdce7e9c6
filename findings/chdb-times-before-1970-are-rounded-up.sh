#!/usr/bin/env bash
# chdb 3.4.0 (npm), engine 26.7.2: a DateTime64(6) before 1970 as milliseconds, and as a value with fewer digits.
#
# Expected: the milliseconds that have begun, as after 1970, so that the order and the day of a time stay: 23:59:59.999999
# is still in the year 1969.
# Seen: toUnixTimestamp64Milli() and a cast to DateTime64(3) round to 0, which is up before 1970 and down afterwards. The
# last microsecond of 1969 becomes 1970-01-01T00:00:00.000Z, another year, and two times on either side of 1970 become
# equal. toStartOfMillisecond() of the same value rounds down.
#
# Output seen:
#   toUnixTimestamp64Milli 0
#   CAST 1970-01-01 00:00:00.000
#   toStartOfMillisecond 1969-12-31 23:59:59.999
#   after 1970 0 1970-01-01 00:00:00.000
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
npm init --yes >/dev/null
npm install --silent --no-audit --no-fund chdb@3.4.0 >/dev/null
cat >times.mjs <<'JS'
import { query } from 'chdb';

const ask = (sql) => String(query(`SELECT ${sql}`, 'TSVRaw')).trim().replaceAll('\t', ' ');
const before = "toDateTime64('1969-12-31 23:59:59.999999', 6, 'UTC')";
const after = "toDateTime64('1970-01-01 00:00:00.000001', 6, 'UTC')";
console.log(`toUnixTimestamp64Milli ${ask(`toUnixTimestamp64Milli(${before})`)}`);
console.log(`CAST ${ask(`CAST(${before}, 'DateTime64(3, ''UTC'')')`)}`);
console.log(`toStartOfMillisecond ${ask(`toDateTime64(toString(toStartOfMillisecond(${before})), 3, 'UTC')`)}`);
console.log(`after 1970 ${ask(`toUnixTimestamp64Milli(${after}), CAST(${after}, 'DateTime64(3, ''UTC'')')`)}`);
JS
node times.mjs | tee output
diff output - <<'TEXT'
toUnixTimestamp64Milli 0
CAST 1970-01-01 00:00:00.000
toStartOfMillisecond 1969-12-31 23:59:59.999
after 1970 0 1970-01-01 00:00:00.000
TEXT
