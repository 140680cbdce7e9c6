import type { Test } from 'tap';
import type { Database } from '../../common/clickhouse/database.ts';
import type { QueryCall, QueryHarness } from './query-harness.ts';

/** A database whose statements that write records are held up, or fail without storing anything. */
export class FaultyDatabase {
  /** Whether a write fails. @param change what an UPDATE or DELETE says; of an INSERT nothing */
  fails: (change: string) => boolean = () => false;
  #held: Promise<void> = Promise.resolve();
  #onWrite: () => void = () => {};

  wrap(db: Database): Database {
    const begin = async (change: string): Promise<void> => {
      this.#onWrite();
      await this.#held;
      if (this.fails(change)) throw new Error('disk full');
    };
    return {
      ...db,
      async insert(statement) {
        if (statement.table.endsWith('.records')) await begin('');
        return db.insert(statement);
      },
      async command(statement) {
        if (/^(UPDATE|DELETE)/.test(statement.sql)) await begin(statement.sql);
        return db.command(statement);
      },
    };
  }

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
