import type { Child } from '../harness/child-process.ts';
import type { SentUpload, Target } from '../load/upload-connection.ts';

/** A server that takes uploads: Sluice, or what it is measured against. */
export interface Subject {
  readonly name: string;
  readonly target: Target;
  /** Of the processes whose work counts. */
  readonly pids: readonly number[];
  /** One sentence for each upload that was not answered well, or whose bytes are not in the store. */
  problems(uploads: readonly SentUpload[]): Promise<string[]>;
  stop(): Promise<void>;
}

/** A subject whose process can be spoken to. */
export interface ProcessSubject extends Subject {
  readonly child: Child;
}
