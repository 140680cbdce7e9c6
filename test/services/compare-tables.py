"""Compares a table with its export, value by value, as pyarrow, polars and DuckDB read it: `compare-tables.py TABLE EXPORT`."""
import sys

import duckdb
import polars
import pyarrow
import pyarrow.feather as feather
import pyarrow.parquet as parquet

written, exported = sys.argv[1:]


def read(name):
    return feather.read_table(name) if name.endswith('.arrow') else parquet.read_table(name)


before, after = read(written), read(exported)
types = pyarrow.types
compared = 0
for field in before.schema:
    kind = field.type
    if types.is_nested(kind) or types.is_time(kind):
        continue
    wanted = (
        pyarrow.timestamp('us', 'UTC') if types.is_timestamp(kind)
        else pyarrow.date32() if types.is_date(kind)
        else pyarrow.int64() if types.is_integer(kind)
        else pyarrow.float64() if types.is_floating(kind)
        else pyarrow.decimal128(min(kind.precision, 38), kind.scale) if types.is_decimal(kind)
        else kind
    )
    column = after.column(field.name)
    if types.is_dictionary(column.type):
        column = column.cast(column.type.value_type)
    if not types.is_string(wanted):
        assert column.type == wanted, f'{field.name}: {column.type}, not {wanted}'
    expected = before.column(field.name).cast(wanted).to_pylist()
    assert column.to_pylist() == expected, f'{field.name}: {column.to_pylist()}, not {expected}'
    if written.endswith('.parquet') and exported.endswith('.parquet'):
        # years beyond 2262 and the like are no numbers of nanoseconds, so values are compared as texts of the engine
        texts = lambda name: duckdb.sql(f"SELECT \"{field.name}\"::{sql} FROM '{name}'").fetchall()
        sql = 'TIMESTAMPTZ::VARCHAR' if types.is_timestamp(wanted) else f'DECIMAL(38, {wanted.scale})::VARCHAR' if types.is_decimal(wanted) else 'VARCHAR'
        # DuckDB reads decimals of more than 38 digits as doubles
        if not types.is_floating(wanted) and not types.is_decimal256(kind):
            assert texts(written) == texts(exported), f'{field.name} in DuckDB: {texts(exported)}, not {texts(written)}'
    frame = (polars.read_ipc if exported.endswith('.arrow') else polars.read_parquet)(exported)
    assert frame[field.name].to_list() == expected, f'{field.name} in polars: {frame[field.name].to_list()}'
    compared += len(expected)
print(compared)
