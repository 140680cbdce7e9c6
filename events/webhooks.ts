import type { BlockList } from 'node:net';
import { createKeyedHash, createStoredKeys } from '#auth/signing-keys.ts';
import type { Database } from '#engine/database.ts';
import type { Pace } from '#engine/statement-queues.ts';
import { notFound, overloaded, unavailable } from '#kernel/errors/catalogue.ts';
import { createFindAddress } from '#kernel/http-client/network-guard.ts';
import { createUuidV7 } from '#kernel/ids/uuid-v7.ts';
import { letOthersRun } from '#kernel/limits/yielding-loop.ts';
import type { Log } from '#kernel/log/log.ts';
import { createSendBySmtp, type SmtpOptions } from '#kernel/mail/send-by-smtp.ts';
import type { FileEvent, FileEvents } from '#kernel/record-events/file-event.ts';
import type { AdmitMail, Mails, MakeMail, PromisedMail } from '#kernel/record-events/mail.ts';
import type { AnnouncedRecord, RecordEvent, RecordEvents } from '#kernel/record-events/record-event.ts';
import type { Metrics } from '#kernel/telemetry/create-metrics.ts';
import { type DeadAddress, DeadAddresses } from './dead-addresses.ts';
import type { Delivery, NewDelivery, Progress } from './delivery.ts';
import { DeliverySender, type DeliverySenderDeps, deliveryLifetime, switchedOff } from './delivery-sender.ts';
import { type DeliveryScope, DeliveryTable } from './delivery-table.ts';
import { headOf, isMail, MailMaker, mailEvent, smtpTarget } from './mail-deliveries.ts';

/** Most records and characters of one delivery; a single record may be longer. */
const mostRecords = 100;
const mostCharacters = 1024 ** 2;
/** Characters and deliveries that an event stores at once. */
const storedCharacters = 4 * mostCharacters;
const storedDeliveries = 100;
/** Milliseconds for which an event may block the event loop. */
const busyFor = 2;
/** Milliseconds after its creation in which a delivery may be sent again: its content is kept one day longer. */
const againFor = 2 * deliveryLifetime;
const { signal: never } = new AbortController();

type DeliveryPlace = Omit<Delivery, 'id' | 'createdAt' | 'bytes' | keyof Progress>;

export interface WebhooksDeps {
  readonly db: Database;
  readonly database: string;
  readonly singleWriter: boolean;
  /** Bytes of contents that an account may have pending. */
  readonly contentShare: number;
  /** Private networks that webhooks may reach; undefined: none. */
  readonly allowed: BlockList | undefined;
  readonly log: Pick<Log, 'warn'>;
  readonly metrics: Pick<Metrics, 'observeCall'>;
  readonly pace?: Pace | undefined;
  /** Absent: mails need a webhook. */
  readonly smtp?: SmtpOptions | undefined;
  readonly mails?: DeliverySenderDeps['mails'];
  readonly isClosed?: DeliverySenderDeps['isClosed'];
  /** Settings of the sender, for tests. */
  readonly delayAfter?: (attempts: number) => number;
  readonly silence?: number;
  readonly limits?: DeliverySenderDeps['limits'];
}

/** Turns events of records and files, and promised mails, into durable deliveries, and sends them. */
export class Webhooks implements RecordEvents, FileEvents, Mails {
  readonly hasSmtp: boolean;
  readonly #table: DeliveryTable;
  readonly #sender: DeliverySender;
  readonly #deadAddresses: DeadAddresses;
  readonly #keyOf: ReturnType<typeof createKeyedHash>;
  readonly #newId = createUuidV7();
  readonly #mailMaker = new MailMaker();

  constructor(deps: WebhooksDeps) {
    const table = new DeliveryTable(deps);
    this.#table = table;
    this.#keyOf = createKeyedHash(createStoredKeys(deps), 'sluice webhooks 1');
    const deadAddresses = new DeadAddresses(deps);
    this.#deadAddresses = deadAddresses;
    this.hasSmtp = deps.smtp !== undefined;
    this.#sender = new DeliverySender({
      ...deps,
      table,
      deadAddresses,
      observeCall: deps.metrics.observeCall,
      secretOf: this.#keyOf,
      findAddress: createFindAddress(deps.allowed),
      mailMaker: this.#mailMaker,
      sendBySmtp: deps.smtp && createSendBySmtp(deps.smtp),
    });
  }

  /**
   * Makes the deliveries of a durable write, and resolves when they are durable as well. Many records are delivered in
   * batches, and other work runs in between.
   */
  async publish(event: RecordEvent): Promise<void> {
    let made: NewDelivery[] = [];
    let size = 0;
    let began = performance.now();
    for (const part of partsOf(event.records)) {
      if (size > storedCharacters || made.length >= storedDeliveries) {
        await this.#store(made);
        [made, size, began] = [[], 0, performance.now()];
      } else if (performance.now() - began > busyFor) {
        await letOthersRun(never);
        began = performance.now();
      }
      const next = this.#deliveryOf(event, part);
      made.push(next);
      size += next[0].bytes;
    }
    if (made.length > 0) await this.#store(made);
  }

  /** Stores a call about a file. Those of one file must be published one after another, or they lose their order. */
  async publishFile(event: FileEvent): Promise<void> {
    await this.#store([this.#fileDelivery(event)]);
  }

  makeMails(make: MakeMail, admit: AdmitMail): void {
    this.#mailMaker.register({ make, admit });
  }

  /** Stores a mail that a request promised. Throws a 503 if it can't be kept until it is sent. */
  async promise(mail: PromisedMail): Promise<void> {
    const { ownerId, spaceId, project, space, address, purpose } = mail;
    const url = mail.webhook ?? smtpTarget;
    if (this.#deadAddresses.has(ownerId, url)) throw unavailable('The webhook for mails is switched off');
    const content = JSON.stringify(mail);
    const event = mailEvent(purpose);
    const place = { ownerId, spaceId, event, project, space, url, recordIds: [address] };
    const delivery = this.#newDelivery(this.#newId(), new Date(), place, content);
    const problem = this.#sender.backlog.add(ownerId, delivery.bytes);
    if (problem !== null) throw overloaded('too many mails of the account wait');
    await this.#store([[delivery, content]]);
  }

  /** The secret that signs an account's deliveries, in the form of Standard Webhooks. */
  async secretOf(ownerId: string): Promise<string> {
    return `whsec_${(await this.#keyOf(ownerId)).toString('base64')}`;
  }

  recent(scope: DeliveryScope, limit: number, signal: AbortSignal): Promise<readonly Delivery[]> {
    return this.#table.recent(scope, limit, signal);
  }

  /** The addresses of an account that are switched off. */
  deadAddresses(ownerId: string, signal: AbortSignal): Promise<readonly DeadAddress[]> {
    return this.#deadAddresses.list(ownerId, signal);
  }

  switchOn(ownerId: string, url: string): Promise<void> {
    return this.#deadAddresses.switchOn(ownerId, url);
  }

  /** Sends a delivery again, as if it were new, and switches its address on. Throws 404, and 429 for too many mails. */
  async sendAgain({ ownerId, spaces }: DeliveryScope, id: string, signal: AbortSignal): Promise<Delivery> {
    const found = await this.#table.find(ownerId, id, signal);
    if (found === null || spaces?.includes(found.space) === false)
      throw notFound('There is no such delivery');
    if (found.state === 'pending') return found;
    if (found.state === 'split') throw notFound('Its records are sent one by one');
    const now = new Date();
    const isOld = now.getTime() - found.createdAt.getTime() > againFor;
    const content = isOld ? null : await this.#table.content(found);
    if (content === null) throw notFound('The content of this delivery is no longer kept');
    if (isMail(found)) await this.#mailMaker.admit(content);
    const dead = await this.#deadAddresses.list(ownerId, signal);
    if (dead.some(({ url }) => url === found.url)) await this.switchOn(ownerId, found.url);
    const sender = this.#sender;
    const problem = sender.hasRoom(ownerId) ? sender.backlog.add(ownerId, found.bytes) : 'memory is full';
    if (problem !== null) throw overloaded('too many deliveries of the account wait');
    const again: Delivery = {
      ...found,
      ...this.#newProgress(now),
      status: found.status,
      problem: found.problem,
    };
    try {
      await this.#table.note(again, again, false);
    } catch (error) {
      sender.backlog.remove(ownerId, found.bytes);
      throw error;
    }
    sender.addAgain(again);
    return again;
  }

  /** Removes the deliveries and the addresses of a deleted account. */
  async removeAll(ownerId: string, signal: AbortSignal): Promise<void> {
    await this.#table.removeAll(ownerId, signal);
    await this.#deadAddresses.removeAll(ownerId, signal);
  }

  start(): Promise<void> {
    return this.#sender.start();
  }

  close(): Promise<void> {
    return this.#sender.close();
  }

  async #store(made: readonly NewDelivery[]): Promise<void> {
    const pending = made.filter(([{ state }]) => state === 'pending');
    try {
      await this.#table.store(made);
    } catch (error) {
      for (const [{ ownerId, bytes }] of pending) this.#sender.backlog.remove(ownerId, bytes);
      throw error;
    }
    this.#sender.add(pending);
  }

  #deliveryOf(event: RecordEvent, records: readonly AnnouncedRecord[]): NewDelivery {
    const { ownerId, spaceId, type, project, space, url } = event;
    const id = this.#newId();
    const now = new Date();
    const recordIds = records.map((record) => record.id);
    const place = { ownerId, spaceId, event: type, project, space, url, recordIds };
    const head = JSON.stringify(headOf({ id, createdAt: now, ...place })).slice(0, -1);
    const content = `${head},"records":[${records.map(({ json }) => json).join(',')}]}`;
    return this.#counted(id, now, place, content);
  }

  #fileDelivery({ type: event, ownerId, projectId, project, url, name, about }: FileEvent): NewDelivery {
    const id = this.#newId();
    const now = new Date();
    const place = { ownerId, spaceId: projectId, event, project, space: '', url, recordIds: [name] };
    const content = JSON.stringify({ deliveryId: id, event, project, time: now.toISOString(), ...about });
    return this.#counted(id, now, place, content);
  }

  /** Counts a delivery in the backlog of its account, if there is room for it and its address is on. */
  #counted(id: string, now: Date, place: DeliveryPlace, content: string): NewDelivery {
    const { ownerId, url } = place;
    const bytes = Buffer.byteLength(content);
    // an address that stays dead must not fill the store; deliveries beyond the limit are only listed
    const { backlog } = this.#sender;
    const isOff = this.#deadAddresses.has(ownerId, url);
    const problem = isOff ? switchedOff : backlog.add(ownerId, bytes);
    // a delivery to an address that is off may be sent again later
    const isKept = problem === null || (isOff && backlog.keepsContent(ownerId, bytes));
    const delivery = this.#newDelivery(id, now, place, content);
    const made: Delivery = problem === null ? delivery : { ...delivery, state: 'failed', problem };
    return [made, isKept ? content : ''];
  }

  #newDelivery(id: string, createdAt: Date, place: DeliveryPlace, content: string): Delivery {
    return { ...place, id, createdAt, bytes: Buffer.byteLength(content), ...this.#newProgress(createdAt) };
  }

  #newProgress(now: Date) {
    const { process } = this.#sender;
    const expiresAt = new Date(now.getTime() + deliveryLifetime);
    const progress = { process, state: 'pending', attempts: 0, status: 0, problem: '' } as const;
    return { ...progress, updatedAt: now, nextAt: now, expiresAt };
  }
}

function* partsOf(records: Iterable<AnnouncedRecord>): Generator<readonly AnnouncedRecord[], undefined> {
  let part: AnnouncedRecord[] = [];
  let length = 0;
  for (const record of records) {
    if (part.length === mostRecords || (part.length > 0 && length + record.json.length > mostCharacters)) {
      yield part;
      part = [];
      length = 0;
    }
    part.push(record);
    length += record.json.length;
  }
  if (part.length > 0) yield part;
  return undefined;
}
