#!/usr/bin/env bash
# hyparquet 1.33.0 (npm) and pyarrow 26.0.1 (PyPI), which wrote the file: the keys of a MAP<DATE, INT64> of Parquet.
#
# Expected: a day as `2020-01-02`, or as its number, or a Map whose keys are Dates: DATE has no time zone
# (https://github.com/apache/parquet-format/blob/master/LogicalTypes.md#date).
# Seen: maps become objects, and a key the text that JavaScript makes of a Date. It has the name of the time zone of the
# process, and in America it is the day before. So two servers read different keys from one file.
#
# Output seen:
#   UTC: Thu Jan 02 2020 00:00:00 GMT+0000 (Coordinated Universal Time)
#   America/New_York: Wed Jan 01 2020 19:00:00 GMT-0500 (Eastern Standard Time)
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
python3 -m venv venv
venv/bin/pip install --quiet pyarrow==26.0.1 2>/dev/null
venv/bin/python - <<'PY'
import datetime
import pyarrow
from pyarrow import parquet
days = pyarrow.map_(pyarrow.date32(), pyarrow.int64())
parquet.write_table(pyarrow.table({'v': pyarrow.array([[(datetime.date(2020, 1, 2), 1)]], days)}), 'days.parquet')
PY
npm init --yes >/dev/null
npm install --silent --no-audit --no-fund hyparquet@1.33.0 >/dev/null
cat >keys.mjs <<'JS'
import { asyncBufferFromFile, parquetReadObjects } from 'hyparquet';

const [row] = await parquetReadObjects({ file: await asyncBufferFromFile('days.parquet') });
console.log(`${process.env.TZ}: ${Object.keys(row.v).join()}`);
JS
for zone in UTC America/New_York; do
  TZ=$zone node keys.mjs
done | tee output
diff output - <<'TEXT'
UTC: Thu Jan 02 2020 00:00:00 GMT+0000 (Coordinated Universal Time)
America/New_York: Wed Jan 01 2020 19:00:00 GMT-0500 (Eastern Standard Time)
TEXT
