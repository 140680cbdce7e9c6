import type { BlockList } from 'node:net';
import { createKeyedHash } from '../../common/auth/keyed-hash.ts';
import { createStoredKeys } from '../../common/auth/signing-keys.ts';
import type { Database } from '../../common/clickhouse/database.ts';
import { notFound } from '../../common/errors/catalogue.ts';
import type { Log } from '../../common/log/log.ts';
import type { Metrics } from '../../common/metrics/create-metrics.ts';
import { createUuidV7 } from '../records/uuid-v7.ts';
import type { RecordSpace } from '../structure/record-space.ts';
import { createFindAddress } from './network-guard.ts';
import { createDeliveries, type Delivery } from './webhook-deliveries.ts';
import { deliveryLifetime, WebhookSender } from './webhook-sender.ts';

export type WebhookEvent = 'record.inserted' | 'record.updated';

/** A stored record as answers show it: JSON text without hashed fields. */
export interface AnnouncedRecord {
  readonly id: string;
  readonly json: string;
}

/** Calls of the addresses that structures name in `webhooks`. */
export interface Webhooks {
  /** Whether a write of this kind is to be announced. */
  wants(space: RecordSpace, event: WebhookEvent): boolean;
  /**
   * Queues the deliveries for a write that is durable. Resolves when they are durable too: only then may the write be
   * acknowledged.
   */
  announce(space: RecordSpace, event: WebhookEvent, records: readonly AnnouncedRecord[]): Promise<void>;
  /** What signs an account's deliveries, in the form of Standard Webhooks. */
  secretOf(ownerId: string): Promise<string>;
  recent(ownerId: string, limit: number, signal: AbortSignal): Promise<readonly Delivery[]>;
  /** Sends a delivery again, as if it were new. Throws 404. */
  sendAgain(ownerId: string, id: string, signal: AbortSignal): Promise<Delivery>;
  start(): Promise<void>;
  close(): Promise<void>;
}

/** Records, and characters, of one delivery; a record alone may be longer. */
const mostRecords = 100;
const mostCharacters = 1024 ** 2;

export function createWebhooks(deps: {
  db: Database;
  database: string;
  alone: boolean;
  /** Private networks that webhooks may reach. */
  allowed?: BlockList | undefined;
  log?: Pick<Log, 'warn'> | undefined;
  metrics?: Partial<Pick<Metrics, 'observeCall'>> | undefined;
  /** Of the sender; absent: as documented. */
  delayAfter?: (attempts: number) => number;
  silence?: number;
}): Webhooks {
  const deliveries = createDeliveries(deps);
  const secretOf = createKeyedHash(createStoredKeys(deps), 'sluice webhooks 1');
  const sender = new WebhookSender({
    ...deps,
    observeCall: deps.metrics?.observeCall,
    deliveries,
    secretOf,
    findAddress: createFindAddress(deps.allowed),
  });
  const newId = createUuidV7();

  const urlOf = ({ structure, stored }: RecordSpace, event: WebhookEvent): string | null => {
    const webhooks = structure.webhooks ?? stored.webhooks;
    return (event === 'record.inserted' ? webhooks?.onInsertUrl : webhooks?.onUpdateUrl) ?? null;
  };

  const store = async (list: readonly Delivery[]): Promise<void> => {
    await deliveries.store(list);
    sender.add(list.filter(({ state }) => state === 'pending'));
  };

  return {
    wants: (space, event) => urlOf(space, event) !== null,
    async announce(space, event, records) {
      const url = urlOf(space, event);
      if (url === null) return;
      const parts = partsOf(records);
      // an address that is dead for long would fill the store; what does not wait is in the list all the same
      const isFull = !sender.hasRoom(space.ownerId, parts.length);
      const now = new Date();
      const { projectSlug: project, slug } = space.structure;
      const list = parts.map((part): Delivery => {
        const id = newId();
        const known = {
          deliveryId: id,
          event,
          project,
          space: slug,
          recordIds: part.map((record) => record.id),
        };
        const head = JSON.stringify({ ...known, time: now.toISOString() }).slice(0, -1);
        return {
          ownerId: space.ownerId,
          id,
          process: sender.process,
          spaceId: space.id,
          event,
          project,
          space: slug,
          url,
          body: `${head},"records":[${part.map(({ json }) => json).join(',')}]}`,
          state: isFull ? 'failed' : 'pending',
          attempts: 0,
          status: 0,
          problem: isFull ? 'too many deliveries of the account wait' : '',
          createdAt: now,
          updatedAt: now,
          nextAt: now,
          expiresAt: new Date(now.getTime() + deliveryLifetime),
          version: 1,
        };
      });
      await store(list);
    },
    secretOf: async (ownerId) => `whsec_${(await secretOf(ownerId)).toString('base64')}`,
    recent: (ownerId, limit, signal) => deliveries.ofOwner(ownerId, limit, signal),
    async sendAgain(ownerId, id, signal) {
      const found = await deliveries.find(ownerId, id, signal);
      if (found === null) throw notFound('There is no such delivery');
      if (found.state === 'pending') return found;
      const now = new Date();
      const again: Delivery = {
        ...found,
        process: sender.process,
        state: 'pending',
        attempts: 0,
        updatedAt: now,
        nextAt: now,
        expiresAt: new Date(now.getTime() + deliveryLifetime),
        version: found.version + 1,
      };
      await store([again]);
      return again;
    },
    start: () => sender.start(),
    close: () => sender.close(),
  };
}

function partsOf(records: readonly AnnouncedRecord[]): readonly (readonly AnnouncedRecord[])[] {
  const parts: AnnouncedRecord[][] = [];
  let part: AnnouncedRecord[] = [];
  let length = 0;
  for (const record of records) {
    if (part.length === mostRecords || (part.length > 0 && length + record.json.length > mostCharacters)) {
      parts.push(part);
      part = [];
      length = 0;
    }
    part.push(record);
    length += record.json.length;
  }
  if (part.length > 0) parts.push(part);
  return parts;
}
