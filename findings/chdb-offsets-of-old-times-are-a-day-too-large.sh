#!/usr/bin/env bash
# chdb 3.4.0 (npm), engine 26.7.2: the offset from UTC of times before the first world war.
#
# Expected: in Paris, clocks were 9 minutes and 21 seconds ahead of UTC until March 1911 (561 s), and in Kolkata, 5 hours,
# 21 minutes and 10 seconds until 1905 (19270 s), as the IANA time zone database says. toString() and a conversion to UTC
# agree with that.
# Seen: timeZoneOffset() answers a day more for those years, and formatDateTime() with %z an offset of more than a day,
# although the same value converts correctly to UTC.
#
# Output seen:
#   Paris 1905: 86961 +2409 11:50:39
#   Kolkata 1903: 105670 +2921 06:38:50
#   Paris 1960: 3600 +0100 11:00:00
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
npm init --yes >/dev/null
npm install --silent --no-audit --no-fund chdb@3.4.0 >/dev/null
cat >offsets.mjs <<'JS'
import { query } from 'chdb';

for (const [name, zone, year] of [
  ['Paris', 'Europe/Paris', 1905],
  ['Kolkata', 'Asia/Kolkata', 1903],
  ['Paris', 'Europe/Paris', 1960],
]) {
  const sql = `SELECT toDateTime64('${year}-01-15 12:00:00', 0, '${zone}') AS time,
    concat(toString(timeZoneOffset(time)), ' ', formatDateTime(time, '%z'), ' ',
      substring(toString(toTimeZone(time, 'UTC')), 12)) AS text`;
  console.log(`${name} ${year}: ${String(query(`SELECT text FROM (${sql})`, 'TSVRaw')).trim()}`);
}
JS
node offsets.mjs | tee output
diff output - <<'TEXT'
Paris 1905: 86961 +2409 11:50:39
Kolkata 1903: 105670 +2921 06:38:50
Paris 1960: 3600 +0100 11:00:00
TEXT
