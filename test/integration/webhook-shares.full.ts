/** Webhooks: what one account may take of memory, store and time, and what is stored of a delivery. */
import { BlockList, createServer } from 'node:net';
import t from 'tap';
import type { Database, InsertStatement } from '#engine/database.ts';
import type { Webhooks, WebhooksDeps } from '#events/webhooks.ts';
import type { AnnouncedRecord, RecordEvent } from '#kernel/record-events/record-event.ts';
import { openMigratedChdb } from '../services/migrated-chdb.ts';
import { testWebhooks } from '../services/query-harness.ts';
import { startWebhookReceiver } from '../services/webhook-receiver.ts';

const loopback = new BlockList();
loopback.addSubnet('127.0.0.0', 8, 'ipv4');
const { signal } = new AbortController();
const { db, database } = await openMigratedChdb(t);
const receiver = await startWebhookReceiver();
const opened: Webhooks[] = [];
t.teardown(async () => {
  for (const webhooks of opened) await webhooks.close();
  await receiver.close();
});
t.beforeEach(() => {
  receiver.received.length = 0;
});

function open(more: Partial<WebhooksDeps> = {}): Webhooks {
  const webhooks = testWebhooks({
    db,
    database,
    singleWriter: true,
    allowed: loopback,
    delayAfter: () => 1,
    ...more,
  });
  opened.push(webhooks);
  return webhooks;
}

const record = (id: string, text = ''): AnnouncedRecord => ({ id, json: JSON.stringify({ id, text }) });
const event = (ownerId: string, url: string, records: Iterable<AnnouncedRecord>): RecordEvent => ({
  type: 'record.updated',
  ownerId,
  spaceId: 's',
  project: 'p',
  space: 'notes',
  url,
  records,
});

/** An address that takes connections and never answers, as a dead one does. */
async function startSilence(): Promise<string> {
  const server = createServer((socket) => void socket.on('error', () => {}));
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  t.teardown(() => server.close());
  return `http://127.0.0.1:${(server.address() as { port: number }).port}/`;
}

/** The database, and what is inserted and asked by it. */
function watched(): { db: Database; inserts: InsertStatement[]; reads: string[] } {
  const inserts: InsertStatement[] = [];
  const reads: string[] = [];
  const insert = async (statement: InsertStatement): Promise<void> => {
    await db.insert(statement);
    inserts.push(statement);
  };
  const rows: Database['rows'] = (statement) => {
    reads.push(statement.sql);
    return db.rows(statement);
  };
  return { db: { ...db, insert, rows }, inserts, reads };
}

t.test('90 large deliveries to a dead address left other accounts no memory', async (t) => {
  const webhooks = open();
  const large = 'x'.repeat(900_000);
  const dead = await startSilence();
  for (let n = 0; n < 9; n++) {
    const records = Array.from({ length: 10 }, (_, i) => record(`${n} ${i}`, large));
    await webhooks.publish(event('greedy', dead, records));
  }
  await webhooks.publish(event('other', receiver.url, [record('a')]));
  await receiver.count(1);
  t.match(receiver.received[0]?.body.recordIds, ['a']);
});

t.test('a list of deliveries read their bodies', async (t) => {
  const watching = watched();
  const webhooks = open({ db: watching.db });
  await webhooks.publish(
    event('lister', 'http://127.0.0.1:9/', [record('a', 'x'.repeat(1000)), record('b')]),
  );
  const [delivery] = await webhooks.recent({ ownerId: 'lister' }, 10, signal);
  t.match(delivery, { state: 'pending', recordIds: ['a', 'b'], space: 'notes' });
  const asked = watching.reads.filter((sql) => sql.includes('ORDER BY id DESC'));
  t.equal(asked.length, 1);
  t.notMatch(asked[0], /\bcontent\b/);
});

t.test('every attempt stored the body again', async (t) => {
  const watching = watched();
  const webhooks = open({ db: watching.db });
  await webhooks.publish(event('retried', 'http://127.0.0.1:9/', [record('a', 'x'.repeat(100_000))]));
  while (watching.inserts.length < 6) await new Promise((resolve) => setTimeout(resolve, 5));
  const [first, ...attempts] = watching.inserts.map(({ lines }) => lines.byteLength);
  t.ok((first as number) > 100_000);
  t.ok(Math.max(...attempts) < 500, `${attempts} bytes`);
  await webhooks.close();
});

t.test('the outcomes of failed calls share INSERTs', async (t) => {
  const watching = watched();
  const webhooks = open({ db: watching.db, delayAfter: () => 3_600_000, limits: { gap: 0 } });
  const records = Array.from({ length: 8000 }, (_, n) => record(`${n}`));
  await webhooks.publish(event('failing', 'http://127.0.0.1:9/', records));
  const stored = watching.inserts.length;
  const failed = async () =>
    (await webhooks.recent({ ownerId: 'failing' }, 100, signal)).filter(({ attempts }) => attempts === 1)
      .length;
  while ((await failed()) < 80) await new Promise((resolve) => setTimeout(resolve, 50));
  const shared = watching.inserts.length - stored;
  t.ok(shared <= 15, `${shared} for 80 calls, eight at once`);
  await webhooks.close();
});

t.test('contents of deliveries that wait had no limit of bytes', async (t) => {
  const webhooks = open({ contentShare: 250_000 });
  const dead = await startSilence();
  const body = 'x'.repeat(100_000);
  for (const id of ['a', 'b', 'c']) await webhooks.publish(event('full', dead, [record(id, body)]));
  await webhooks.publish(event('beside', dead, [record('d', body)]));
  const list = await webhooks.recent({ ownerId: 'full' }, 10, signal);
  t.strictSame(
    list.map(({ recordIds, state }) => [...recordIds, state]),
    [
      ['c', 'failed'],
      ['b', 'pending'],
      ['a', 'pending'],
    ],
  );
  t.match(list[0]?.problem, /too large/);
  t.match(await webhooks.recent({ ownerId: 'beside' }, 10, signal), [{ state: 'pending' }]);
  await t.rejects(webhooks.sendAgain({ ownerId: 'full' }, list[0]?.id as string, signal), {
    code: 'not_found',
  });
});

t.test('contents of what was delivered are kept for sending it again, within a share', async (t) => {
  const webhooks = open({ contentShare: 400_000 });
  for (const id of ['a', 'b']) {
    await webhooks.publish(event('again', receiver.url, [record(id, 'x'.repeat(60_000))]));
    while ((await webhooks.recent({ ownerId: 'again' }, 1, signal))[0]?.state !== 'delivered');
  }
  const [b, a] = (await webhooks.recent({ ownerId: 'again' }, 2, signal)).map(({ id }) => id) as [
    string,
    string,
  ];
  await t.rejects(webhooks.sendAgain({ ownerId: 'again' }, b, signal), { code: 'not_found' });
  await webhooks.sendAgain({ ownerId: 'again' }, a, signal);
  await receiver.count(3);
  t.equal(receiver.received[2]?.text, receiver.received[0]?.text);
});

t.test('what memory has no room for comes from the store, in order', async (t) => {
  const watching = watched();
  const webhooks = open({ db: watching.db, limits: { memory: 0, least: 8, callsOfAccount: 2 } });
  const order = Array.from({ length: 40 }, (_, n) => n);
  // all but the first share an INSERT, so they come in at once
  await Promise.all(
    order.map((n) => webhooks.publish(event('behind', receiver.url, [record('one', `${n}`)]))),
  );
  await receiver.count(40);
  t.strictSame(
    receiver.received.map(({ body }) => Number(body.records[0].text)),
    order,
  );
  t.ok(watching.reads.some((sql) => sql.includes(`AND state = 'pending'`)));
});

t.test('one account is behind, and not the others', async (t) => {
  const watching = watched();
  const webhooks = open({ db: watching.db, limits: { memory: 0, least: 4 } });
  const dead = await startSilence();
  for (let n = 0; n < 30; n++) await webhooks.publish(event('stuck', dead, [record(`${n}`)]));
  for (let n = 0; n < 3; n++) await webhooks.publish(event('quick', receiver.url, [record(`${n}`)]));
  await receiver.count(3);
  t.strictSame(
    watching.reads.filter((sql) => sql.includes('quick')),
    [],
    'it was sent from memory',
  );
});

t.test('an event of many records kept the event loop, and all of its deliveries in memory', async (t) => {
  let taken = 0;
  let stored = 0;
  let most = 0;
  let turns = 0;
  const count: NodeJS.Immediate[] = [];
  const turn = (): void => {
    turns++;
    count[0] = setImmediate(turn);
  };
  turn();
  const insert = async (statement: InsertStatement): Promise<void> => {
    await db.insert(statement);
    stored += statement.lines.toString().split('"record.updated"').length - 1;
  };
  const webhooks = open({ db: { ...db, insert } });
  const pauses: number[] = [];
  function* records(): Generator<AnnouncedRecord> {
    for (let n = 0; n < 30_000; n++) {
      taken++;
      most = Math.max(most, taken - 100 * stored);
      if (n % 5000 === 4999) {
        // longer than anybody may keep the event loop
        const until = performance.now() + 5;
        while (performance.now() < until);
        pauses.push(turns);
      }
      yield record(`${n}`);
    }
  }
  await webhooks.publish(event('many', 'http://10.0.0.1/', records()));
  clearImmediate(count[0]);
  t.equal(taken, 30_000);
  t.ok(most <= 100 * 103, `${most} records at once`);
  t.strictSame(
    pauses.filter((seen, index) => seen === pauses[index - 1]),
    [],
    'others ran after each pause',
  );
});
