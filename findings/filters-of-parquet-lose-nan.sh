#!/usr/bin/env bash
# DuckDB 2.0.1, pyarrow 26.0.1 (PyPI) and chdb 3.4.0 (npm, engine 26.7.2) read a Parquet file of pyarrow: the values 1, NaN, 1.
#
# Expected: a filter finds the same rows in a file as in memory. Minimum and maximum of a column chunk leave NaN out
# (https://github.com/apache/parquet-format/blob/master/src/main/thrift/parquet.thrift, ColumnOrder), so a reader that skips row
# groups by them has to assume that there may be NaN.
# Seen: none of the three does. The filter that asks for NaN itself finds none in DuckDB, and in a dataset of pyarrow whose other
# values are equal. A negated comparison finds none in chdb, whose isNaN() does. There is no message. polars 2.1.0 finds NaN.
#
# Output seen: rows in the file, rows in memory (chdb: without input_format_parquet_filter_push_down)
#   DuckDB isnan(v): 0 1
#   DuckDB v > 2 (NaN is the largest number): 0 1
#   pyarrow is_nan: 0 1
#   polars is_nan: 1 1
#   chdb NOT (v <= 2): 0 1
#   chdb isNaN(v): 1 1
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
python3 -m venv venv
venv/bin/pip install --quiet pyarrow==26.0.1 duckdb==2.0.1 polars==2.1.0 2>/dev/null
cat >filters.py <<'PY'
import duckdb
import polars
import pyarrow
from pyarrow import compute, dataset, parquet
parquet.write_table(pyarrow.table({'v': [1.0, float('nan'), 1.0]}), 'nan.parquet')
duckdb.sql("CREATE TABLE memory AS FROM 'nan.parquet'")
for name, condition in (('isnan(v)', 'isnan(v)'), ('v > 2 (NaN is the largest number)', 'v > 2')):
    sql = f"SELECT (SELECT count(*) FROM 'nan.parquet' WHERE {condition}), (SELECT count(*) FROM memory WHERE {condition})"
    print(f'DuckDB {name}:', *duckdb.sql(sql).fetchall()[0])
is_nan = compute.is_nan(compute.field('v'))
in_file = dataset.dataset('nan.parquet').to_table(filter=is_nan)
print('pyarrow is_nan:', in_file.num_rows, parquet.read_table('nan.parquet').filter(is_nan).num_rows)
is_nan = polars.col('v').is_nan()
in_file = polars.scan_parquet('nan.parquet').filter(is_nan).collect()
print('polars is_nan:', in_file.height, polars.read_parquet('nan.parquet').filter(is_nan).height)
PY
npm init --yes >/dev/null
npm install --silent --no-audit --no-fund chdb@3.4.0 >/dev/null
cat >filters.mjs <<'JS'
import { query } from 'chdb';

for (const condition of ['NOT (v <= 2)', 'isNaN(v)']) {
  const sql = `SELECT count() FROM file('${process.cwd()}/nan.parquet') WHERE ${condition}`;
  const count = (settings) => String(query(sql + settings, 'TSV')).trim();
  console.log(`chdb ${condition}: ${count('')} ${count(' SETTINGS input_format_parquet_filter_push_down = 0')}`);
}
JS
{
  venv/bin/python filters.py
  node filters.mjs
} | tee output
diff output - <<'TEXT'
DuckDB isnan(v): 0 1
DuckDB v > 2 (NaN is the largest number): 0 1
pyarrow is_nan: 0 1
polars is_nan: 1 1
chdb NOT (v <= 2): 0 1
chdb isNaN(v): 1 1
TEXT
