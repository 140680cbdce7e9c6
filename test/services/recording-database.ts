import type { Database } from '../../common/clickhouse/database.ts';

/** A statement that something asked of a `Database`. */
export interface Recorded {
  /** Complete; of an INSERT without its rows. */
  readonly sql: string;
  /** Whose home it goes to; undefined: that of the control tables. */
  readonly table: string | undefined;
  /** `file:line` of the call, from the root of the project. */
  readonly place: string;
}

/** The same database, and what is asked of it. @param root folder of the project @param all gets it */
export function recordingDatabase(
  db: Database,
  root: string,
  all: Recorded[] = [],
): { readonly db: Database; readonly all: Recorded[] } {
  const note = (sql: string, table: string | undefined): void => {
    const frames = (new Error().stack ?? '').split('\n');
    const frame = frames.find((line) => /\/(common|query|gateway)\//.test(line) && !line.includes('/test/'));
    const [, file = '', line = ''] = /\(?(?:file:\/\/)?(\/[^():]+):(\d+):\d+\)?$/.exec(frame ?? '') ?? [];
    all.push({ sql, table, place: `${file.slice(root.length + 1)}:${line}` });
  };
  return {
    all,
    db: {
      ...db,
      command(sql, signal, permit, table) {
        note(sql, table);
        return db.command(sql, signal, permit, table);
      },
      rows(sql, signal, table) {
        note(sql, table);
        return db.rows(sql, signal, table);
      },
      stream(sql, format, signal, table) {
        note(`${sql}\nFORMAT ${format}`, table);
        return db.stream(sql, format, signal, table);
      },
      insert(table, columns, lines, signal, permit) {
        note(`INSERT INTO ${table} (${columns.join(', ')}) FORMAT JSONCompactEachRow`, table);
        return db.insert(table, columns, lines, signal, permit);
      },
    },
  };
}
