import type { Test } from 'tap';
import type { Database, InsertStatement } from '#engine/database.ts';
import type { QueryCall, QueryHarness } from './query-harness.ts';

/** What a statement asks for. */
export interface Asked {
  /** SELECT, INSERT, UPDATE, DELETE, ... */
  readonly verb: string;
  /** The first that it names, without its database, such as `records`; empty where it names none. */
  readonly table: string;
  /** Of an INSERT without its rows. */
  readonly sql: string;
  readonly insert?: InsertStatement;
}

export const isRecordWrite = ({ verb, table }: Asked): boolean =>
  verb === 'UPDATE' || verb === 'DELETE' || (verb === 'INSERT' && table === 'records');

/** A database that keeps what it was asked, whose writes of records are held up, and whose statements fail. */
export class FaultyDatabase {
  /** All statements, oldest first. */
  readonly asked: Asked[] = [];
  /** What fails, and is not done. */
  fails: (asked: Asked) => boolean = () => false;
  /** What is done, and fails then. */
  losesAnswer: (asked: Asked) => boolean = () => false;
  #held: Promise<void> = Promise.resolve();
  #onWrite: () => void = () => {};

  readonly wrap = (db: Database): Database => {
    const ask = async <Result>(sql: string, run: () => Promise<Result>, insert?: InsertStatement) => {
      const [verb = ''] = /\w+/.exec(sql) ?? [];
      const [, table = ''] = /\b(?:FROM|INTO|UPDATE|TABLE) (?:`?\w+`?\.)?`?(\w+)/.exec(sql) ?? [];
      const asked = { verb, table, sql, ...(insert && { insert }) };
      this.asked.push(asked);
      if (isRecordWrite(asked)) {
        this.#onWrite();
        await this.#held;
      }
      if (this.fails(asked)) throw new Error('disk full');
      const result = await run();
      if (this.losesAnswer(asked)) throw new Error('the answer is lost');
      return result;
    };
    return {
      ...db,
      insert: (statement) => ask(`INSERT INTO ${statement.table}`, () => db.insert(statement), statement),
      command: (statement) => ask(statement.sql, () => db.command(statement)),
      rows: <Row>(statement: Parameters<Database['rows']>[0]) =>
        ask(statement.sql, () => db.rows<Row>(statement)),
      stream: (statement) => ask(statement.sql, () => db.stream(statement)),
    };
  };

  /** Holds writes up until `release` is called. */
  hold(): { readonly begun: Promise<void>; readonly release: () => void } {
    let release: () => void = () => {};
    this.#held = new Promise((resolve) => {
      release = resolve;
    });
    const begun = new Promise<void>((resolve) => {
      this.#onWrite = resolve;
    });
    return { begun, release };
  }

  /** Asks for a write, whose client goes away when it has begun. @returns what lets the write go on */
  async abandon(t: Test, harness: Pick<QueryHarness, 'call'>, call: QueryCall): Promise<() => void> {
    const { begun, release } = this.hold();
    const gone = new AbortController();
    const asked = harness.call({ ...call, signal: gone.signal });
    await begun;
    gone.abort(new Error('client gone'));
    await t.rejects(asked, { message: 'client gone' });
    return release;
  }
}
