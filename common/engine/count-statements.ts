import { type ObserveCall, unobserved } from '#kernel/telemetry/observe-call.ts';
import type { Database, ReadStatement } from './database.ts';

/** A database that counts running statements, and reports the outcome of each. */
export interface CountedDatabase extends Database {
  /** A stream counts until it has been read. */
  readonly statementsInFlight: number;
}

export function countStatements(db: Database, observe: ObserveCall = unobserved): CountedDatabase {
  let inFlight = 0;
  const counted = async <Result>(
    call: string,
    { signal }: { readonly signal?: AbortSignal | undefined },
    work: () => Promise<Result>,
  ): Promise<Result> => {
    inFlight++;
    try {
      return await observe('engine', call, work, { signal });
    } finally {
      inFlight--;
    }
  };
  async function* countedChunks(chunks: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
    inFlight++;
    try {
      yield* chunks;
    } finally {
      inFlight--;
    }
  }
  return {
    replicated: db.replicated,
    servers: db.servers,
    stores: db.stores,
    get statementsInFlight() {
      return inFlight;
    },
    command: (statement) => counted('command', statement, () => db.command(statement)),
    rows: <Row>(statement: ReadStatement) => counted('rows', statement, () => db.rows<Row>(statement)),
    insert: (statement) => counted('insert', statement, () => db.insert(statement)),
    stream: async (statement) =>
      countedChunks(await counted('stream', statement, () => db.stream(statement))),
    ready: (signal) => db.ready(signal),
    close: () => db.close(),
  };
}
