import type { RecordEvent } from '../common/record-events/record-event.ts';

/** Its progress: everything that an attempt writes. */
export interface Progress {
  /** That sends it. */
  readonly process: string;
  readonly state: 'pending' | 'delivered' | 'failed';
  readonly attempts: number;
  /** Of the last answer; 0: there was none. */
  readonly status: number;
  readonly problem: string;
  readonly updatedAt: Date;
  readonly nextAt: Date;
  /** When it is given up. */
  readonly expiresAt: Date;
}

/** An entry of the list of changes: up to 100 records of one write, for one address. */
export interface Delivery extends Progress, Omit<RecordEvent, 'type' | 'records'> {
  readonly id: string;
  readonly createdAt: Date;
  readonly event: RecordEvent['type'];
  readonly recordIds: readonly string[];
  /** Of its content: the body of its calls, with the records as they were when they were written. */
  readonly bytes: number;
}

/** A delivery, and its content. */
export type NewDelivery = readonly [delivery: Delivery, content: string];
