/** What a load consists of, as a mix file says it; `readMix` reads one, and mix.schema.json describes it to editors. */
export interface Mix {
  readonly name: string;
  readonly description: string;
  /** All records, bytes and choices follow from it. */
  readonly seed: number;
  readonly spaces: readonly MixSpace[];
  readonly requests: readonly MixRequest[];
  readonly phases: readonly Phase[];
}

/** A mix as a file has it (mix.schema.json): what has a standard value may be left out. */
export interface MixFile {
  readonly name?: string;
  readonly description?: string;
  readonly seed?: number;
  readonly spaces?: readonly object[];
  readonly requests: readonly object[];
  readonly phases?: readonly object[];
}

/** A record space, or what the target has in its place: a collection, a table. */
export interface MixSpace {
  readonly name: string;
  readonly fields: readonly MixField[];
  /** Stored before the load begins: the records of the seed with the numbers 0 to `records` - 1. */
  readonly records: number;
}

export interface MixField {
  readonly name: string;
  readonly type: 'TEXT' | 'NUMBER' | 'BOOLEAN' | 'DATETIME';
  readonly unique: boolean;
  /** How many different values it has; as many as records by default. */
  readonly values: number | null;
  /** Characters of a text. */
  readonly length: number | null;
}

interface RequestBase {
  /** Its name in results. */
  readonly name: string;
  /** How often it is chosen, relative to the others. */
  readonly weight: number;
  /** A caller's pause after the answer, in milliseconds; only in a closed loop. */
  readonly think: number;
}

/** Requests about records: of the space with this name. */
export interface RecordRequest extends RequestBase {
  readonly kind: 'find' | 'findOne' | 'findById' | 'list' | 'insert' | 'insertMany' | 'update' | 'delete';
  readonly space: string;
  /** The fields of a find's condition; those of the record that the choice falls on. */
  readonly by: readonly string[];
  readonly sort: string | null;
  readonly limit: number;
  /** Among how many records the choice falls; all by default. */
  readonly among: number | null;
  /** Among how many pages of `limit` records a find chooses; 1 by default. */
  readonly pages: number;
  /** Records of one `insertMany`. */
  readonly records: number;
}

export interface FileRequest extends RequestBase {
  readonly kind: 'upload' | 'download';
  readonly by: 'form' | 'put' | 'tus' | 'direct';
  /** Sizes in bytes, and how often each is chosen. */
  readonly sizes: readonly { readonly bytes: number; readonly weight: number }[];
}

/** A stream of changes of a find, open for its whole phase. */
export interface LiveRequest extends RequestBase {
  readonly kind: 'live';
  readonly space: string;
  readonly by: readonly string[];
  readonly among: number | null;
}

/** Any request; `{number}` and `{random}` in path and body are replaced. */
export interface PlainRequest extends RequestBase {
  readonly kind: 'request';
  readonly method: string;
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string | null;
  /** Statuses that are right; 200 to 299 by default. */
  readonly expect: readonly number[] | null;
}

export type MixRequest = RecordRequest | FileRequest | LiveRequest | PlainRequest;

/** Either an open loop (`rate`) or a closed one (`concurrency`). */
export interface Phase {
  readonly name: string;
  readonly seconds: number;
  /** A closed loop ends after so many requests, if its time has not passed before. */
  readonly requests?: number | null;
  /** Requests a second, by the schedule. */
  readonly rate: number | null;
  /** The rate changes evenly to this one. */
  readonly rateAtEnd: number | null;
  readonly concurrency: number | null;
  /** A warm-up does not count. */
  readonly counts: boolean;
  /** Streams of `live` requests that are open besides. */
  readonly streams: number;
}
