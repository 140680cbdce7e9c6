/** Prints a checksum of the rows of each given Parquet file. verify-projects.ts runs it as a process. */
import { openSync } from 'node:fs';
import { loadChdb } from '#engine/chdb-sessions.ts';
import { quoteIdentifier, textLiteral } from '#engine/literal.ts';
import { failStart } from '#process/lifecycle/command-line.ts';

/** A checksum of a table's rows, whatever their order. */
export interface TableSums {
  /** Names and types, sorted by name. */
  readonly columns: string;
  readonly rows: string;
  /** Sum of a hash of each row, modulo 2^64. */
  readonly sum: string;
}

type ReadRows = (sql: string) => string[][];

function sumsOf(path: string, read: ReadRows): TableSums {
  // a descriptor, because a path may contain wildcards
  const file = `'/dev/fd/${openSync(path, 'r')}', Parquet`;
  const columns = read(`DESCRIBE file(${file})`)
    .map(([name = '', type = '']) => ({ name, type }))
    .sort((one, other) => (one.name < other.name ? -1 : 1));
  // the engine refuses days outside the years 1900 to 2299, but it reads their numbers
  const readAs = columns.map(
    ({ name, type }) => `${quoteIdentifier(name)} ${type.replace('Date32', 'Int32')}`,
  );
  const table = `file(${file}, ${textLiteral(readAs.join(', '))})`;
  // the hash ignores null values, so IS NULL is a separate column
  const values = columns.map(({ name }) => quoteIdentifier(name)).map((name) => `${name}, ${name} IS NULL`);
  const [row] =
    read(`SELECT toString(count()), toString(sum(sipHash64(tuple(${values.join(', ')})))) FROM ${table}
    SETTINGS max_threads = 2, max_block_size = 8192`);
  const [rows = '', sum = ''] = row ?? [];
  return { columns: columns.map(({ name, type }) => `${name} ${type}`).join(', '), rows, sum };
}

try {
  const { query } = loadChdb();
  const read: ReadRows = (sql) =>
    query(sql, 'JSONCompactEachRow')
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line) as string[]);
  for (const path of process.argv.slice(2)) process.send?.(sumsOf(path, read));
  process.disconnect();
} catch (error) {
  failStart(error);
}
