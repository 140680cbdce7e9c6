#!/usr/bin/env bash
# chdb 3.4.0 (npm), engine 26.7.2, reads files of pyarrow 26.0.1 (PyPI): a struct and a list that are null, in two formats.
#
# Expected: Tuple and Array have no NULL, so the fields of a null struct, which become Nullable, are NULL. A null list is empty.
# Seen: it is so for Parquet. For Arrow files and streams, what the buffers hold below the null is read as if it were there: 0 for
# the field here, although its type is Nullable, and other numbers for the list (Arrow leaves those bytes undefined). So the count
# and the average of a field depend on the format of the file. With input_format_arrow_use_native_reader = 0 the field is NULL.
# The engine 26.9.2 (chdb-core 26.9.0, PyPI) has both right.
#
# Output seen: of three rows, whose second is null: the field, its count and average; the list
#   Parquet: Nullable(Int64) [10,NULL,20] 2 15 [[1,2],[],[5]]
#   Arrow: Nullable(Int64) [10,0,20] 3 10 [[1,2],[3,4],[5]]
#   ArrowStream: Nullable(Int64) [10,0,20] 3 10 [[1,2],[3,4],[5]]
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
python3 -m venv venv
venv/bin/pip install --quiet pyarrow==26.0.1 2>/dev/null
venv/bin/python - <<'PY'
import pyarrow
from pyarrow import ipc, parquet
numbers, offsets = pyarrow.array([1, 2, 3, 4, 5]), pyarrow.array([0, 2, 4, 5], pyarrow.int32())
lists = pyarrow.ListArray.from_arrays(offsets, numbers, mask=pyarrow.array([False, True, False]))
table = pyarrow.table({'v': pyarrow.array([{'a': 10}, None, {'a': 20}]), 'l': lists})
parquet.write_table(table, 'nested.Parquet')
for name, new in (('Arrow', ipc.new_file), ('ArrowStream', ipc.new_stream)):
    with new(f'nested.{name}', table.schema) as writer:
        writer.write_table(table)
PY
npm init --yes >/dev/null
npm install --silent --no-audit --no-fund chdb@3.4.0 >/dev/null
cat >read.mjs <<'JS'
import { query } from 'chdb';

for (const format of ['Parquet', 'Arrow', 'ArrowStream']) {
  const values = 'any(toTypeName(v.a)), groupArray(tuple(v.a)).1, count(v.a), avg(v.a), groupArray(l)';
  const sql = `SELECT ${values} FROM file('${process.cwd()}/nested.${format}', '${format}')`;
  console.log(`${format}: ${String(query(sql, 'TSVRaw')).trim().replaceAll('\t', ' ')}`);
}
JS
node read.mjs | tee output
diff output - <<'TEXT'
Parquet: Nullable(Int64) [10,NULL,20] 2 15 [[1,2],[],[5]]
Arrow: Nullable(Int64) [10,0,20] 3 10 [[1,2],[3,4],[5]]
ArrowStream: Nullable(Int64) [10,0,20] 3 10 [[1,2],[3,4],[5]]
TEXT
