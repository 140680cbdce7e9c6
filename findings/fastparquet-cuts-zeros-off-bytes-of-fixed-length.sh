#!/usr/bin/env bash
# fastparquet 2026.9.0 (PyPI) reads a Parquet file of pyarrow 26.0.1: SHA-256 digests as FIXED_LEN_BYTE_ARRAY(32).
#
# Expected: 32 bytes each, since the length is part of the type.
# Seen: bytes of zero at the end are gone, without a message, so that about one digest in 256 is shorter, and equals none. A
# column of BYTE_ARRAY with the same digests is right, as are both with DuckDB 2.0.1.
#
# Output seen: of 20,000 digests, those that differ from what was written
#   fastparquet, fixed length: 72 differ, lengths 31 32
#   fastparquet, any length: 0 differ, lengths 32
#   duckdb, fixed length: 0 differ, lengths 32
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
python3 -m venv venv
venv/bin/pip install --quiet fastparquet==2026.9.0 pyarrow==26.0.1 duckdb==2.0.1 pandas==3.1.1 numpy==2.4.6 2>/dev/null
cat >digests.py <<'PY'
import hashlib
import duckdb
import pyarrow
from fastparquet import ParquetFile
from pyarrow import parquet
digests = [hashlib.sha256(str(number).encode()).digest() for number in range(20_000)]
columns = {'fixed': pyarrow.array(digests, pyarrow.binary(32)), 'any': pyarrow.array(digests, pyarrow.binary())}
parquet.write_table(pyarrow.table(columns), 'digests.parquet')
read = ParquetFile('digests.parquet').to_pandas()
[by_duckdb] = zip(*duckdb.sql("SELECT fixed FROM 'digests.parquet'").fetchall())
for name, values in (
    ('fastparquet, fixed length', read['fixed']),
    ('fastparquet, any length', read['any']),
    ('duckdb, fixed length', by_duckdb),
):
    differ = sum(value != digest for value, digest in zip(values, digests, strict=True))
    print(f'{name}: {differ} differ, lengths', *sorted({len(value) for value in values}))
PY
venv/bin/python digests.py | tee output
diff output - <<'TEXT'
fastparquet, fixed length: 72 differ, lengths 31 32
fastparquet, any length: 0 differ, lengths 32
duckdb, fixed length: 0 differ, lengths 32
TEXT
