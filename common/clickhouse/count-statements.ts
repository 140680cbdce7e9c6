import type { Database, ReadStatement } from './database.ts';

/** A database that knows how many statements are under way. */
export interface CountedDatabase extends Database {
  /** Streams count until they have been read. */
  readonly statementsInFlight: number;
}

export function countStatements(db: Database): CountedDatabase {
  let inFlight = 0;
  const counted = async <Result>(work: () => Promise<Result>): Promise<Result> => {
    inFlight++;
    try {
      return await work();
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
    cluster: db.cluster,
    servers: db.servers,
    get statementsInFlight() {
      return inFlight;
    },
    command: (statement) => counted(() => db.command(statement)),
    rows: <Row>(statement: ReadStatement) => counted(() => db.rows<Row>(statement)),
    insert: (statement) => counted(() => db.insert(statement)),
    stream: async (statement) => countedChunks(await counted(() => db.stream(statement))),
    ready: (signal) => db.ready(signal),
    close: () => db.close(),
  };
}
