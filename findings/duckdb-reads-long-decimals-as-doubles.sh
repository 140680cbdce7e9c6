#!/usr/bin/env bash
# DuckDB 2.0.1 (PyPI) reads a Parquet file of pyarrow 26.0.1: a column of decimal256(50, 2).
#
# Expected: an error, since DuckDB's own DECIMAL has 38 digits at most, or the digits as a text. This value has 32 digits,
# which a DECIMAL(38, 2) of DuckDB holds.
# Seen: the column is a DOUBLE, without a message, and the value has 17 right digits. A cast to DECIMAL(38, 2) succeeds
# afterwards, and shows digits that the file does not have.
#
# Output seen:
#   DOUBLE 123456789012345668026095412183.04 False
#   pyarrow 123456789012345678901234567890.12
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
python3 -m venv venv
venv/bin/pip install --quiet duckdb==2.0.1 pyarrow==26.0.1 2>/dev/null
cat >read.py <<'PY'
import decimal
import duckdb
import pyarrow
from pyarrow import parquet
value = decimal.Decimal('123456789012345678901234567890.12')
parquet.write_table(pyarrow.table({'v': pyarrow.array([value], pyarrow.decimal256(50, 2))}), 'long.parquet')
[(kind, read, equal)] = duckdb.sql(f"""SELECT typeof(v), v::DECIMAL(38, 2)::VARCHAR,
  v::DECIMAL(38, 2) = '{value}'::DECIMAL(38, 2) FROM 'long.parquet'""").fetchall()
print(kind, read, equal)
print('pyarrow', parquet.read_table('long.parquet').column('v')[0].as_py())
PY
venv/bin/python read.py | tee output
diff output - <<'TEXT'
DOUBLE 123456789012345668026095412183.04 False
pyarrow 123456789012345678901234567890.12
TEXT
