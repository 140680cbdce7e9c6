import type { LiveNotes } from '../live/live-notes.ts';
import type { LiveRequest, Mix, MixRequest } from '../mix/mix.ts';
import type { Verification } from '../run/result.ts';

/** Where a load goes, as the command line says it. */
export interface TargetAddress {
  readonly kind: 'sluice' | 'pocketbase' | 'parse' | 's3' | 'tus' | 'http';
  /** Instead of the kind: the file: address of a module whose default export is a TargetKind of one's own. */
  readonly module?: string;
  readonly url: string;
  /** Its credential: a token, `key:secret`, `user:password`. Never in results. */
  readonly credential: string | null;
  /** Project, bucket or what else the kind needs. */
  readonly options: Readonly<Record<string, string>>;
}

/** A kind of server. */
export interface TargetKind {
  /** Names of its options; absent: any. */
  readonly options?: readonly string[];
  /** One sentence for a request of the mix that this kind can't serve, or null. */
  refuses(request: MixRequest): string | null;
  /**
   * Makes what the mix needs, in the main thread, once: spaces and their records.
   * @returns what each worker needs of it; cloneable
   */
  prepare(work: Preparation): Promise<unknown>;
  /** In each worker. */
  open(work: Session): Performer;
  /** Reads again what a run has stored, and compares it; absent: this kind can't. */
  verify?(work: Verify): Promise<Verification>;
  /** Removes what runs have made. */
  cleanUp(work: Preparation): Promise<void>;
}

export interface Preparation {
  readonly mix: Mix;
  readonly address: TargetAddress;
  readonly signal: AbortSignal;
  /** One line for whoever waits. */
  progress(line: string): void;
}

export interface Verify extends Preparation {
  readonly prepared: unknown;
  /** What requests have stored, or the share of it that is to be verified. */
  readonly stored: readonly Stored[];
  /** The share of what was prepared that is to be verified, 0 to 1. */
  readonly share: number;
}

export interface Session {
  readonly mix: Mix;
  readonly address: TargetAddress;
  readonly prepared: unknown;
  readonly signal: AbortSignal;
  /** Of a mix with live requests: gets what it takes to say how late events are. */
  readonly notes?: LiveNotes | undefined;
}

export interface Performer {
  /**
   * Performs one request, and resolves with what came of it; it rejects only for mistakes of its own.
   * The same number gives the same request.
   */
  perform(request: MixRequest, number: number, signal: AbortSignal): Promise<Outcome>;
  /** Opens streams, and resolves when all are ready; absent: this kind has none. */
  openStreams?(work: StreamsToOpen): Promise<OpenStreams>;
  close(): void;
}

export interface StreamsToOpen {
  /** Of the mix; a stream's number chooses one of them, and its records. */
  readonly requests: readonly LiveRequest[];
  readonly numbers: readonly number[];
  readonly signal: AbortSignal;
}

/** Streams of changes, open until they are closed. */
export interface OpenStreams {
  /** What came so far, and the streams or changes that were lost. */
  readonly counts: {
    readonly events: number;
    readonly lost: number;
    /** How often streams ended or were refused, and were opened again, by reason. */
    readonly ends?: Readonly<Record<string, number>>;
  };
  /**
   * Once nothing is written any more: compares what streams told with what the server has, and counts what was lost.
   * @returns a sentence for each stream that lost something
   */
  compare?(): Promise<readonly string[]>;
  close(): void;
}

export interface Outcome {
  /** Whether the answer is what the request asked for. */
  readonly good: boolean;
  /** 0 when there was no answer. */
  readonly status: number;
  /** A word for tables: the server's own code, `ECONNRESET`, `timeout`. Null when all is well. */
  readonly code: string | null;
  readonly sentBytes: number;
  readonly receivedBytes: number;
  /** What was stored, for verification. */
  readonly stored?: Stored;
  /** One sentence for stored bytes that are not the right ones: verification has failed. */
  readonly wrong?: string;
}

/** Something that the server has acknowledged. */
export type Stored =
  | {
      readonly kind: 'record';
      readonly space: string;
      readonly index: number;
      /** Null: it is one of several, and the answer was not read. */
      readonly id: string | null;
      /** Records with consecutive numbers; 1 by default. */
      readonly count?: number;
    }
  | { readonly kind: 'file'; readonly index: number; readonly bytes: number; readonly path: string }
  | StoredUpdate;

/** An update of a record, acknowledged or perhaps done. */
export interface StoredUpdate {
  readonly kind: 'update';
  readonly space: string;
  /** Of the record. */
  readonly index: number;
  /** Of the request: what it sets follows from it. */
  readonly number: number;
  /** Milliseconds since 1970. */
  readonly began: number;
  /** When it was acknowledged; null: it may be done, or be done later. */
  readonly ended: number | null;
}
