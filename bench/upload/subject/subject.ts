import type { Child } from '../harness/child-process.ts';
import type { SentUpload, Target } from '../load/send-upload.ts';

/** A server for uploads: Sluice, or a baseline. */
export interface Subject {
  readonly name: string;
  readonly target: Target;
  /** The processes whose work counts. */
  readonly pids: readonly number[];
  /** One sentence for each upload with a bad answer, or with wrong bytes in the store. */
  problems(uploads: readonly SentUpload[]): Promise<string[]>;
  stop(): Promise<void>;
}

/** A subject with a message channel to its process. */
export interface ProcessSubject extends Subject {
  readonly child: Child;
}
