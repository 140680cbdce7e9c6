#!/usr/bin/env bash
# apache-arrow 21.1.0 (npm) and pyarrow 26.0.1 (PyPI), which wrote the file: timestamps in microseconds.
#
# Expected: the stored 64 bits, as a bigint, or milliseconds that lose the microseconds.
# Seen: get() divides by 1000, as a double. The last microsecond of the year 9999 is rounded up to the year 10000. And the
# last microsecond of 1969 is -0.001: a Date drops the fraction towards 0, so that it is in 1970, while the same microsecond of
# any day after 1970 stays in its day.
#
# Output seen:
#   9999-12-31T23:59:59.999999: 253402300800000, +010000-01-01T00:00:00.000Z
#   2026-01-31T23:59:59.999999: 1769903999999.999, 2026-01-31T23:59:59.999Z
#   1969-12-31T23:59:59.999999: -0.001, 1970-01-01T00:00:00.000Z
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
python3 -m venv venv
venv/bin/pip install --quiet pyarrow==26.0.1 2>/dev/null
venv/bin/python - <<'PY'
import datetime
import pyarrow
from pyarrow import feather
days = [(9999, 12, 31), (2026, 1, 31), (1969, 12, 31)]
times = [datetime.datetime(*day, 23, 59, 59, 999999) for day in days]
table = pyarrow.table({'name': [time.isoformat() for time in times], 't': pyarrow.array(times, pyarrow.timestamp('us'))})
feather.write_feather(table, 'times.arrow', compression='uncompressed')
PY
npm init --yes >/dev/null
npm install --silent --no-audit --no-fund apache-arrow@21.1.0 >/dev/null
cat >times.mjs <<'JS'
import { readFileSync } from 'node:fs';
import { tableFromIPC } from 'apache-arrow';

for (const { name, t } of tableFromIPC(readFileSync('times.arrow')))
  console.log(`${name}: ${t}, ${new Date(t).toISOString()}`);
JS
node times.mjs | tee output
diff output - <<'TEXT'
9999-12-31T23:59:59.999999: 253402300800000, +010000-01-01T00:00:00.000Z
2026-01-31T23:59:59.999999: 1769903999999.999, 2026-01-31T23:59:59.999Z
1969-12-31T23:59:59.999999: -0.001, 1970-01-01T00:00:00.000Z
TEXT
