import type { FileEventType } from '#kernel/record-events/file-event.ts';
import type { MailPurpose } from '#kernel/record-events/mail.ts';
import type { RecordEvent } from '#kernel/record-events/record-event.ts';

/** Progress of a delivery: everything that an attempt writes. */
export interface Progress {
  /** The process that sends it. */
  readonly process: string;
  /** `split`: its records are sent one by one, as separate deliveries. */
  readonly state: 'pending' | 'delivered' | 'failed' | 'split';
  readonly attempts: number;
  /** HTTP status of the last answer; 0: none. */
  readonly status: number;
  readonly problem: string;
  readonly updatedAt: Date;
  readonly nextAt: Date;
  /** When it is given up. */
  readonly expiresAt: Date;
}

/**
 * One call of a webhook: up to 100 records of one write, for one address. Or a file, whose name takes the place of the
 * records, and its project that of the space. Or a mail, with its address in their place. So calls about a file, and mails
 * to an address, keep their order.
 */
export interface Delivery extends Progress, Omit<RecordEvent, 'type' | 'records'> {
  readonly id: string;
  readonly createdAt: Date;
  readonly event: RecordEvent['type'] | FileEventType | `mail.${MailPurpose}`;
  readonly recordIds: readonly string[];
  /** Bytes of its content: the body of its calls, with the records as they were written. */
  readonly bytes: number;
}

/** A delivery, and its content. */
export type NewDelivery = readonly [delivery: Delivery, content: string];
