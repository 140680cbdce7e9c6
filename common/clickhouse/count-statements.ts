import type { Database } from './database.ts';

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
    get statementsInFlight() {
      return inFlight;
    },
    command: (...args) => counted(() => db.command(...args)),
    rows: <Row>(...args: Parameters<Database['rows']>) => counted(() => db.rows<Row>(...args)),
    insert: (...args) => counted(() => db.insert(...args)),
    stream: async (...args) => countedChunks(await counted(() => db.stream(...args))),
    ready: (signal) => db.ready(signal),
    close: () => db.close(),
  };
}
