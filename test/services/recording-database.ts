import type { Database } from '#engine/database.ts';
import { insertTarget } from '#engine/insert-target.ts';

/** A statement that something asked of a `Database`. */
export interface Recorded {
  /** Complete; of an INSERT without its rows. */
  readonly sql: string;
  /** Whose home it goes to; undefined: that of the metadata tables. */
  readonly home: string | undefined;
  /** `file:line` of the call, from the root of the project. */
  readonly place: string;
}

/** The same database, and what is asked of it. @param root folder of the project @param all gets it */
export function recordingDatabase(
  db: Database,
  root: string,
  all: Recorded[] = [],
): { readonly db: Database; readonly all: Recorded[] } {
  const note = (sql: string, home: string | undefined): void => {
    const frames = (new Error().stack ?? '').split('\n');
    // what only hands statements on is nobody's call
    const between = /\/test\/|\/pending-records\.ts/;
    const frame = frames.find(
      (line) => /\/(common|events|query|gateway)\//.test(line) && !between.test(line),
    );
    const [, file = '', line = ''] = /\(?(?:file:\/\/)?(\/[^():]+):(\d+):\d+\)?$/.exec(frame ?? '') ?? [];
    all.push({ sql, home, place: `${file.slice(root.length + 1)}:${line}` });
  };
  return {
    all,
    db: {
      ...db,
      command(statement) {
        note(statement.sql, statement.home);
        return db.command(statement);
      },
      rows(statement) {
        note(statement.sql, statement.home);
        return db.rows(statement);
      },
      stream(statement) {
        note(`${statement.sql}\nFORMAT ${statement.format}`, statement.home);
        return db.stream(statement);
      },
      insert(statement) {
        const { into, format } = insertTarget(statement.table, statement.columns);
        note(`${into} FORMAT ${format}`, statement.home);
        return db.insert(statement);
      },
    },
  };
}
