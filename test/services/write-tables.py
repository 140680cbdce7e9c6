"""Files of tables as pyarrow, pandas, polars and DuckDB write them, into the folder that is named."""
import csv
import datetime
import os
import sys

import duckdb
import pandas
import polars
import pyarrow
import pyarrow.feather as feather
import pyarrow.ipc as ipc
import pyarrow.parquet as parquet

os.chdir(sys.argv[1])


def write(name, columns):
    parquet.write_table(pyarrow.table(columns), name)


frame = polars.DataFrame({'n': [1, 2], 't': ['a', None], 'c': polars.Series(['x', 'y'], dtype=polars.Categorical)})
for compression in ('uncompressed', 'lz4', 'zstd'):
    frame.write_ipc(f'polars-{compression}.arrow', compression=compression)
frame.write_ipc_stream('polars-stream.arrow')
frame.head(0).write_ipc('polars-empty.arrow')
table = pyarrow.table({'n': [1, 2], 't': ['a', None]})
feather.write_feather(table, 'pyarrow.arrow', compression='zstd')
feather.write_feather(table, 'feather-1.arrow', version=1)
old = ipc.IpcWriteOptions(use_legacy_format=True, metadata_version=ipc.MetadataVersion.V4)
with ipc.new_stream('old-stream.arrow', table.schema, options=old) as writer:
    writer.write_table(table)
polars.DataFrame({'v': polars.Series([5], dtype=polars.Int128)}).write_ipc('int128.arrow')
feather.write_feather(pyarrow.table({'k': [1, 2], 'v': pyarrow.array([b'ok', b'\xff'])}), 'bytes.arrow')

write('bytes.parquet', {'k': [1, 2], 'v': pyarrow.array([b'ok', b'\xff'], pyarrow.binary())})
write('fixed.parquet', {'k': [1], 'v': pyarrow.array([b'abc\0'], pyarrow.binary(4))})
write('nan.parquet', {'k': [1, 2, 3], 'v': [1.5, float('nan'), float('inf')]})
write('long-list.parquet', {'k': [1], 'v': pyarrow.array([[2**53 + 1]], pyarrow.list_(pyarrow.int64()))})
for name, good, value, kind in (
    ('list-nan', [0.5], [1.0, float('nan')], pyarrow.list_(pyarrow.float64())),
    ('struct-bytes', {'a': b'x'}, {'a': b'\xff'}, pyarrow.struct([('a', pyarrow.binary())])),
    ('map-long', [('a', 1)], [('a', 2**53 + 1)], pyarrow.map_(pyarrow.string(), pyarrow.int64())),
):
    write(f'{name}.parquet', {'k': [1, 2], 'v': pyarrow.array([good, value], kind)})
write(
    'nested-times.parquet',
    {
        'v': pyarrow.array(
            [[{'d': datetime.date(9999, 12, 31), 't': datetime.datetime(2020, 1, 2, 3, 4, 5), 'f': 0.1}]],
            pyarrow.list_(
                pyarrow.struct([('d', pyarrow.date32()), ('t', pyarrow.timestamp('us')), ('f', pyarrow.float32())])
            ),
        )
    },
)
days = pyarrow.array([1, 2**31 - 1], pyarrow.int32()).view(pyarrow.date32())
write('far-dates.parquet', {'k': [1, 2], 'v': days})
keys = pyarrow.map_(pyarrow.date32(), pyarrow.int64())
feather.write_feather(pyarrow.table({'v': pyarrow.array([[(datetime.date(2020, 1, 2), 1)]], keys)}), 'keys.arrow')
write('keys.parquet', {'v': pyarrow.array([[(datetime.date(2020, 1, 2), 1)], []], keys)})
write('texts.parquet', {'v': ['[1]'] * 1000 + ['hello']})
dates = [datetime.date(9999, 12, 31), datetime.date(1850, 5, 1), None]
write('dates.parquet', {'d': pyarrow.array(dates)})
write('long.parquet', {'k': [1, 1727000000000000001, 1727000000000000002]})
pandas.DataFrame({'n': pandas.Series([], dtype='int64')}).to_parquet('empty.parquet')
with parquet.ParquetWriter('empty-group.parquet', pyarrow.schema([('n', pyarrow.int64())])) as writer:
    rows = pyarrow.table({'n': [1, 2]})
    writer.write_table(rows)
    writer.write_table(rows.slice(0, 0))
    writer.write_table(rows)
parquet.write_table(pyarrow.Table.from_arrays([pyarrow.array([1])] * 2, names=['x', 'x']), 'twice.parquet')
parquet.write_table(pyarrow.Table.from_arrays([pyarrow.array([1])] * 2, names=['', 'v']), 'no-name.parquet')
write(
    'nulls.parquet',
    {
        'l': pyarrow.array([[1, None], [], None], pyarrow.list_(pyarrow.int64())),
        's': pyarrow.array([{'a': 1}, {'a': None}, None], pyarrow.struct([('a', pyarrow.int64())])),
        'm': pyarrow.array([[('k', 1)], [], None], pyarrow.map_(pyarrow.string(), pyarrow.int64())),
    },
)
nested = pyarrow.list_(pyarrow.struct([('a', pyarrow.int64())]))
groups = pyarrow.table(
    {
        'k': [1, 2, 3],
        'empty': pyarrow.array([[1, None], [], [2]], pyarrow.list_(pyarrow.int64())),
        'list': pyarrow.array([[1], [], None], pyarrow.list_(pyarrow.int64())),
        'struct': pyarrow.array([{'a': 1}, {'a': None}, None], pyarrow.struct([('a', pyarrow.int64())])),
        'map': pyarrow.array([[('k', 1)], [], None], pyarrow.map_(pyarrow.string(), pyarrow.int64())),
        'inside': pyarrow.array([[{'a': 1}], [{'a': None}, None], []], nested),
    }
)
parquet.write_table(groups, 'groups-pyarrow.parquet')
parquet.write_table(groups, 'groups-pyarrow-2.parquet', data_page_version='2.0', compression='zstd')
polars.from_arrow(groups.drop_columns(['map'])).write_parquet('groups-polars.parquet')
duckdb.sql("COPY groups TO 'groups-duckdb.parquet'")
duckdb.sql("COPY (SELECT 1 AS k, INTERVAL '14 months 3 days 4.5 seconds' AS v) TO 'interval.parquet'")
duckdb.sql("""COPY (SELECT '{"a":1}'::JSON AS v UNION ALL SELECT '[12345678901234567890]'::JSON) TO 'json.parquet'""")
pandas.DataFrame({'n': [1.5, None], 't': ['x', None]}).to_csv('pandas.csv', na_rep='NA')

# texts that read like numbers, behind the rows that decide the types: as pandas, and as write.csv of R, with row names
# and quotes
numbers = [str(number) for number in range(1, 30001)]
for name, text in (('zeros', '007'), ('plus', '+5'), ('point', '5.'), ('small', '1e-400'), ('large', '9007199254740993')):
    frame = pandas.DataFrame({'n': numbers + [text]})
    frame.to_csv(f'late-{name}.csv', index=False)
    frame.to_csv(f'late-{name}-r.csv', quoting=csv.QUOTE_NONNUMERIC)
pandas.DataFrame({'n': numbers + ['-1.5e-300', '0', '1152921504606846976']}).to_csv('late-good.csv', index=False)
pandas.DataFrame({'n': numbers + ['1.5']}).to_csv('late-comma.csv', index=False)

# encodings and compressions
words = pandas.DataFrame({'k': [1, 2], 't': ['été', 'x']})
for encoding in ('utf-16', 'latin-1'):
    words.to_csv(f'{encoding}.csv', index=False, encoding=encoding)
    with open(f'{encoding}.ndjson', 'w', encoding=encoding) as file:
        file.write(words.to_json(orient='records', lines=True, force_ascii=False))
with open('latin-1-key.ndjson', 'w', encoding='latin-1') as file:
    file.write('{"é": 1}\n')
for ending, compression in (('gz', 'gzip'), ('zst', 'zstd')):
    with pyarrow.output_stream(f'words.csv.{ending}', compression=compression) as file:
        words.to_csv(file, index=False)
    with pyarrow.output_stream(f'words.ndjson.{ending}', compression=compression) as file:
        words.to_json(file, orient='records', lines=True, force_ascii=False)
with open('words.csv.gz', 'rb') as whole, open('cut.csv.gz', 'wb') as cut:
    cut.write(whole.read()[:-12])
