"""Columns of every type of Parquet and Arrow, as pyarrow, polars and DuckDB write them, into the folder that is named."""
import datetime
import decimal
import os
import sys

import duckdb
import polars
import pyarrow
import pyarrow.feather as feather
import pyarrow.parquet as parquet

os.chdir(sys.argv[1])

D = decimal.Decimal
micros = 1577840523456789


def column(kind, *values):
    return pyarrow.array([*values, None], kind)


zone = 'Europe/Paris'
columns = {
    'seconds': column(pyarrow.timestamp('s', 'UTC'), micros // 10**6, -62135596800),
    'millis': column(pyarrow.timestamp('ms', zone), micros // 1000, 253402300799999),
    'micros': column(pyarrow.timestamp('us', 'UTC'), micros, 253402300799999999),
    'nanos': column(pyarrow.timestamp('ns', 'UTC'), micros * 1000, -1000),
    'day': column(pyarrow.date32(), 18262, 2932896),
    'day64': column(pyarrow.date64(), 18262 * 86400000, -719162 * 86400000),
    'time32': column(pyarrow.time32('ms'), 45296789, 0),
    'time64': column(pyarrow.time64('us'), 45296789012, 86399999999),
    'time9': column(pyarrow.time64('ns'), 45296789012345, 1000000),
    'int8': column(pyarrow.int8(), -128, 127),
    'uint32': column(pyarrow.uint32(), 4294967295, 0),
    'int64': column(pyarrow.int64(), -(2**63), 2**53 + 1),
    'uint64': column(pyarrow.uint64(), 2**63 - 1, 1),
    'cents': column(pyarrow.decimal128(9, 2), D('12.30'), D('-0.05')),
    'money': column(pyarrow.decimal128(18, 4), D('99999999999999.9999'), D('0')),
    'exact': column(pyarrow.decimal128(38, 10), D('-1234567890123456789012345678.1234567890'), D('1e-10')),
    'wide': column(pyarrow.decimal256(50, 2), D('123456789012345678901234567890.12'), D('1')),
    'whole': column(pyarrow.decimal128(20, 0), D('12345678901234567890'), D('-1')),
    'float32': column(pyarrow.float32(), 1.5, -0.0),
    'float64': column(pyarrow.float64(), 0.1, 1e300),
    'flag': column(pyarrow.bool_(), True, False),
    'text': column(pyarrow.string(), '2020-01-01', ''),
    'times': column(pyarrow.list_(pyarrow.timestamp('us', 'UTC')), [micros, 253402300799999999], []),
    'local': column(pyarrow.list_(pyarrow.timestamp('us')), [micros], [micros - micros % 1000000]),
    'parts': column(
        pyarrow.struct([
            ('day', pyarrow.date32()),
            ('price', pyarrow.decimal128(9, 2)),
            ('time', pyarrow.time64('us')),
            ('nanos', pyarrow.timestamp('ns', 'UTC')),
            ('n', pyarrow.int64()),
        ]),
        {'day': datetime.date(9999, 12, 31), 'price': D('1.50'), 'time': 45296789000, 'nanos': micros * 1000 + 1, 'n': 7},
        {'day': datetime.date(1, 1, 1), 'price': D('100'), 'time': 0, 'nanos': micros * 1000, 'n': 2**53},
    ),
}
table = pyarrow.table(columns)
parquet.write_table(table, 'pyarrow.parquet')
parquet.write_table(table, 'pyarrow-v2.parquet', use_dictionary=False, data_page_version='2.0', compression='zstd')
feather.write_feather(table, 'pyarrow.arrow', compression='zstd')
encoded = {name: values.dictionary_encode() for name, values in columns.items() if name in ('micros', 'day', 'int64', 'cents')}
feather.write_feather(pyarrow.table(encoded), 'dictionary.arrow', compression='lz4')

frame = polars.DataFrame({
    'at': polars.Series([datetime.datetime(2020, 1, 1, 1, 2, 3, 456789, datetime.timezone.utc), None]),
    'day': polars.Series([datetime.date(2020, 1, 1), None]),
    'time': polars.Series([datetime.time(12, 34, 56, 789012), None]),
    'n': polars.Series([2**53 + 1, None]),
    'small': polars.Series([7, None], dtype=polars.Int16),
    'price': polars.Series([D('12.30'), None], dtype=polars.Decimal(12, 2)),
})
frame.write_parquet('polars.parquet')
frame.write_ipc('polars.arrow')
frame.write_csv('polars.csv')
frame.write_ndjson('polars.ndjson')

duckdb.sql("SET TimeZone = 'UTC'")
duckdb.sql("""COPY (SELECT TIMESTAMPTZ '2020-01-01 01:02:03.456789+00' AS at, DATE '2020-01-01' AS day,
  TIME '12:34:56.789012' AS time, 9007199254740993::BIGINT AS n, 7::SMALLINT AS small, 12.30::DECIMAL(12, 2) AS price
  UNION ALL SELECT NULL, NULL, NULL, NULL, NULL, NULL) TO 'duckdb.parquet' (FORMAT parquet)""")
duckdb.sql("COPY (SELECT * FROM 'duckdb.parquet') TO 'duckdb.csv'")
duckdb.sql("COPY (SELECT * FROM 'duckdb.parquet') TO 'duckdb.json' (FORMAT json)")

# times without a zone: a usual one, one that Paris skips, and one that it has twice
for name, text in (('plain', '2020-07-01 12:00:00'), ('skipped', '2020-03-29 02:30:00'), ('twice', '2020-10-25 02:30:00')):
    moment = datetime.datetime.fromisoformat(text)
    parquet.write_table(pyarrow.table({'at': column(pyarrow.timestamp('us'), moment)}), f'{name}.parquet')
    feather.write_feather(pyarrow.table({'at': column(pyarrow.timestamp('us'), moment)}), f'{name}.arrow', compression='uncompressed')
    with open(f'{name}.csv', 'w') as file:
        file.write(f'at,k\n{text},1\n,2\n')

parquet.write_table(pyarrow.table({'at': column(pyarrow.timestamp('ns', 'UTC'), micros * 1000 + 1)}), 'beyond.parquet')
parquet.write_table(pyarrow.table({'n': column(pyarrow.uint64(), 2**63)}), 'unsigned.parquet')
late = [None] * 1500
parquet.write_table(pyarrow.table({'n': pyarrow.array(late + [1.5], pyarrow.float64()), 'b': pyarrow.array(late + [True])}), 'late.parquet')
parquet.write_table(pyarrow.table({'n': pyarrow.array([], pyarrow.int64()), 'v': pyarrow.array([], pyarrow.list_(pyarrow.int8()))}), 'empty.parquet')

# digits before 1970, and the last microsecond before the year 1
parquet.write_table(pyarrow.table({'v': pyarrow.array([[-1], [-1000]], pyarrow.list_(pyarrow.timestamp('ns', 'UTC')))}), 'negative.parquet')
parquet.write_table(pyarrow.table({'at': pyarrow.array([0, -62135596800000001], pyarrow.timestamp('us', 'UTC'))}), 'year0.parquet')
parquet.write_table(pyarrow.table({'at': pyarrow.array([0, 2**62], pyarrow.timestamp('ms', 'UTC'))}), 'far.parquet')
old = pyarrow.table({'at': pyarrow.array([0, -62135596800], pyarrow.timestamp('s'))})
parquet.write_table(old, 'int96.parquet', use_deprecated_int96_timestamps=True)
# keys of maps are texts, so they may have more digits than numbers
keys = {
    'long': (pyarrow.int64(), 2**53 + 1), 'unsigned': (pyarrow.uint64(), 2**64 - 1), 'price': (pyarrow.decimal128(20, 2), D('123456789012345678.50')),
    'double': (pyarrow.float64(), 1e22), 'day': (pyarrow.date32(), -719162),
}
table = {name: pyarrow.array([[(key, 1)]], pyarrow.map_(kind, pyarrow.int8())) for name, (kind, key) in keys.items()}
parquet.write_table(pyarrow.table(table), 'keys.parquet')
feather.write_feather(pyarrow.table(table), 'keys.arrow', compression='zstd')
small = {
    'list': pyarrow.array([[1, 255, None], []], pyarrow.list_(pyarrow.uint8())),
    'pair': pyarrow.array([[97, 98], [0, 1]], pyarrow.list_(pyarrow.uint8(), 2)),
    'inside': pyarrow.array([{'v': [97]}, {'v': []}], pyarrow.struct([('v', pyarrow.list_(pyarrow.uint8()))])),
}
parquet.write_table(pyarrow.table(small), 'bytes.parquet')
feather.write_feather(pyarrow.table(small), 'bytes.arrow', compression='zstd')
# a name that looks like a path into the other column
dotted = {'a.b': pyarrow.array([0], pyarrow.timestamp('us')), 'a': pyarrow.array([0], pyarrow.timestamp('us', 'UTC'))}
parquet.write_table(pyarrow.table(dotted), 'dotted.parquet')
nothing = pyarrow.table({'v': pyarrow.array([None, None], pyarrow.null()), 'k': [1, 2]})
parquet.write_table(nothing, 'nothing.parquet')
feather.write_feather(nothing, 'nothing.arrow', compression='zstd')
json = ['{"id":"12345678901234567890\\\\\\"","n":9007199254740992}', '{"n":[12345678901234567890123]}']
for count, name in ((1, 'exact'), (2, 'rounded')):
    parquet.write_table(pyarrow.table({'o': json[:count]}), f'{name}.parquet')
    with open(f'{name}.csv', 'w') as file:
        file.write('o\n' + ''.join('"' + text.replace('"', '""') + '"\n' for text in json[:count]))
    with open(f'{name}.ndjson', 'w') as file:
        file.write(''.join('{"o":' + text + '}\n' for text in json[:count]))
for ending, line in (('csv', '{}\n'), ('ndjson', '{{"at": "{}"}}\n')):
    with open(f'offsets.{ending}', 'w') as file:
        file.write('at\n' if ending == 'csv' else '')
        for text in ('2020-01-01 12:00:00+00:00', '2020-01-01T12:00:00.5-05:30', '2020-01-01T12:00:00+01', '2020-01-01T12:00:00'):
            file.write(line.format(text))
    with open(f'colon.{ending}', 'w') as file:
        file.write('at\n' if ending == 'csv' else '')
        file.write(line.format('2020-01-01T12:00:00+01:'))
