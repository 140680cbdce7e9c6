/** Webhooks of a project's files: what is sent, when, in which order, and what is left when it can't be. */
import { randomUUID } from 'node:crypto';
import { BlockList } from 'node:net';
import t, { type Test } from 'tap';
import type { Webhooks } from '#events/webhooks.ts';
import type { CloudFile } from '#gateway/catalogue/cloud-file.ts';
import { AnnouncedFiles } from '#gateway/files/announced-files.ts';
import { overloaded } from '#kernel/errors/catalogue.ts';
import type { FileEvent } from '#kernel/record-events/file-event.ts';
import { readFileRules } from '#query/login/file-rules.ts';
import { openMigratedChdb } from '../services/migrated-chdb.ts';
import { newFile } from '../services/new-file.ts';
import { testWebhooks } from '../services/query-harness.ts';
import { ada, serveFiles } from '../services/serve-files.ts';
import { testJanitor } from '../services/test-janitor.ts';
import { startWebhookReceiver } from '../services/webhook-receiver.ts';

const { signal } = new AbortController();
const loopback = new BlockList();
loopback.addSubnet('127.0.0.0', 8, 'ipv4');

/** A gateway whose project `demo` calls a receiver, and what may be done with its files. */
async function open(
  t: Test,
  { events, over }: { events?: readonly string[]; over?: Parameters<typeof serveFiles>[1] } = {},
) {
  const receiver = await startWebhookReceiver();
  t.teardown(() => receiver.close());
  let webhooks: Webhooks | undefined;
  let announced: AnnouncedFiles | undefined;
  /** Called before an event is stored. */
  const before = { publish: async (_: FileEvent): Promise<void> => {} };
  const served = await serveFiles(t, {
    ...over,
    overFiles(files, { db, database, projects }) {
      webhooks = testWebhooks({ db, database, singleWriter: true, allowed: loopback, delayAfter: () => 1 });
      const publishFile = async (event: FileEvent): Promise<void> => {
        await before.publish(event);
        await webhooks?.publishFile(event);
      };
      const fileUrl = ({ projectSlug, name }: CloudFile) => `http://files.test/_f_/${projectSlug}/${name}`;
      announced = new AnnouncedFiles({ events: { publishFile }, projects, fileUrl });
      return announced.over(files);
    },
  });
  t.teardown(() => webhooks?.close());
  const { projects, upload, ask } = served;
  const listen = async (list: readonly object[], project = 'demo'): Promise<void> => {
    const problems: string[] = [];
    const { rules } = readFileRules({ webhooks: list }, problems);
    t.strictSame(problems, []);
    await projects.setFileRules(await projects.ensure(ada, project, signal), rules, signal);
  };
  await listen([{ url: `${receiver.url}/files`, ...(events && { events }) }]);
  const uploaded = async (name = 'a.txt'): Promise<{ readonly name: string; readonly _id: string }> => {
    const answer = await upload(name);
    if (answer.status !== 200) throw new Error(await answer.text());
    return (await answer.json()) as { name: string; _id: string };
  };
  const remove = (name: string) => ask(`/_f_/demo/${name}`, { method: 'DELETE' });
  return { ...served, receiver, before, listen, uploaded, remove, announced: announced as AnnouncedFiles };
}

/** What the calls say, in short. */
function told(receiver: { readonly received: readonly { readonly body: unknown }[] }): string[] {
  return receiver.received.map(({ body }) => {
    const { event, reason, file } = body as { event: string; reason?: string; file: { name: string } };
    return [event, ...(reason === undefined ? [] : [reason]), file.name.slice(37)].join(' ');
  });
}

t.test('files that are uploaded and deleted are told of', async (t) => {
  const { receiver, ask, uploaded, remove, upload } = await open(t);
  const file = await uploaded();
  await receiver.count(1);
  const { body, headers } = receiver.received[0] as (typeof receiver.received)[number];
  t.match(body, { event: 'file.created', project: 'demo', reason: 'uploaded', time: /^\d{4}-.*Z$/ });
  t.strictSame(body.file, file, 'as the upload was answered');
  t.equal(headers['webhook-id'], body.deliveryId);
  const put = await ask('/_f_/demo/b.txt', { method: 'PUT', body: 'b' });
  t.equal(put.status, 200);
  await receiver.count(2);
  t.equal((await remove(file.name)).status, 204);
  await receiver.count(3);
  t.strictSame(receiver.received[2]?.body.file, file);
  const names = [((await put.json()) as { name: string }).name, (await uploaded('c.txt')).name];
  await receiver.count(4);
  const answer = await ask('/_f_/demo/_delete_', { method: 'POST', body: JSON.stringify({ names }) });
  t.match(await answer.json(), { deleted: 2 });
  await receiver.count(6);
  t.strictSame(told(receiver).slice(0, 4), [
    'file.created uploaded a.txt',
    'file.created uploaded b.txt',
    'file.deleted deleted a.txt',
    'file.created uploaded c.txt',
  ]);
  t.strictSame(told(receiver).slice(4).sort(), ['file.deleted deleted b.txt', 'file.deleted deleted c.txt']);
  t.equal((await remove(file.name)).status, 404, 'which tells of nothing');
  await upload('quiet.txt', { project: 'other' });
  await uploaded('last.txt');
  await receiver.count(7);
  t.equal(told(receiver)[6], 'file.created uploaded last.txt', 'other projects have their own');
});

t.test('an address hears of the events that it wants', async (t) => {
  const { receiver, listen, uploaded, remove } = await open(t);
  await listen([
    { url: `${receiver.url}/created`, events: ['file.created'] },
    { url: `${receiver.url}/deleted`, events: ['file.deleted', 'file.refused'] },
  ]);
  await remove((await uploaded()).name);
  await receiver.count(2);
  const calls = receiver.received.map(({ path, body }) => [path, body.event]).sort();
  t.strictSame(calls, [
    ['/created', 'file.created'],
    ['/deleted', 'file.deleted'],
  ]);
});

t.test('calls about a file keep their order while an address fails', async (t) => {
  const { receiver, uploaded, remove } = await open(t);
  receiver.answers.push(500, 503, 429, 500);
  const files = await Promise.all(['a', 'b', 'c'].map((name) => uploaded(name)));
  await Promise.all(files.map(({ name }) => remove(name)));
  await receiver.count(10);
  for (const { name } of files) {
    const calls = receiver.received.filter(({ body }) => body.file.name === name);
    const order = calls.map(({ body }) => body.event);
    t.strictSame(order, [...order].sort(), 'created before deleted');
    t.equal(new Set(calls.map(({ headers }) => headers['webhook-id'])).size, 2, 'each with an id of its own');
  }
});

t.test('a deletion during an upload is told after it', async (t) => {
  const { receiver, cloudFiles, before } = await open(t);
  const file = newFile({ ownerId: ada });
  const events: string[] = [];
  let removal: Promise<boolean> | undefined;
  before.publish = async ({ type }) => {
    removal ??= cloudFiles.remove(file.name, signal);
    await new Promise((resolve) => setTimeout(resolve, 20));
    events.push(type);
  };
  await cloudFiles.insert(file, signal);
  t.equal(await removal, true);
  t.strictSame(events, ['file.created', 'file.deleted']);
  await receiver.count(2);
});

t.test('an upload whose call can not be stored fails, and leaves nothing', async (t) => {
  const { receiver, upload, ask, before, store, uploaded } = await open(t);
  before.publish = async () => {
    throw overloaded('too many webhook deliveries are waiting to be stored');
  };
  const answer = await upload('a.txt');
  t.equal(answer.status, 503);
  t.match(await answer.json(), { code: 'overloaded' });
  before.publish = async () => {};
  t.match(await (await ask('/_f_/demo')).json(), { files: [] }, 'no row');
  await uploaded('b.txt');
  await receiver.count(1);
  const keys: string[] = [];
  for await (const { key } of store.list('', signal)) keys.push(key);
  t.equal(keys.length, 1, 'no object');
});

t.test('a deletion whose row was not removed is told again', async (t) => {
  const { receiver, uploaded, remove, before, ask } = await open(t, { events: ['file.deleted'] });
  const { name } = await uploaded();
  before.publish = async () => {
    throw overloaded('too many webhook deliveries are waiting to be stored');
  };
  t.equal((await remove(name)).status, 503);
  t.match(await (await ask('/_f_/demo')).json(), { files: [{ name }] }, 'the row is there');
  before.publish = async () => {};
  t.equal((await remove(name)).status, 204);
  await receiver.count(1);
});

t.test('copies are not told of, and files that the janitor finds are', async (t) => {
  const { receiver, uploaded, remove, store, cloudFiles } = await open(t);
  const id = randomUUID();
  const copy = newFile({ id, name: `${id}_copy.txt`, ownerId: ada });
  await cloudFiles.insert(copy, signal, { isCopy: true });
  t.equal((await remove(copy.name)).status, 204);
  await receiver.count(1);
  t.strictSame(told(receiver), ['file.deleted deleted copy.txt']);
  const lost = await uploaded('lost.txt');
  await receiver.count(2);
  await cloudFiles.removeOwner(ada, signal);
  await testJanitor({ store, cloudFiles }).run({ dryRun: false });
  await receiver.count(3);
  t.equal(receiver.received[2]?.body.file.name, lost.name);
  t.equal(told(receiver)[2], 'file.created uploaded lost.txt');
});

t.test('the trash and the scanner are told of by what becomes of a file', async (t) => {
  const { receiver, cloudFiles, announced } = await open(t);
  const past = new Date(Date.now() - 1000);
  const trashed = new Date();
  const [kept, expired, held, virus] = ['kept', 'expired', 'held', 'virus'].map((name) => {
    const id = randomUUID();
    return newFile({ id, name: `${id}_${name}`, ownerId: ada });
  }) as [CloudFile, CloudFile, CloudFile, CloudFile];
  const steps: (readonly [() => Promise<unknown>, string | null])[] = [
    [() => cloudFiles.insert(kept, signal), 'file.created uploaded kept'],
    [() => cloudFiles.change([kept.name], { trashedAt: trashed }, signal), 'file.deleted trashed kept'],
    [() => cloudFiles.change([kept.name], { trashedAt: trashed }, signal), null],
    [() => cloudFiles.change([kept.name], { trashedAt: null }, signal), 'file.created restored kept'],
    [() => cloudFiles.change([kept.name], { trashedAt: trashed }, signal), 'file.deleted trashed kept'],
    [() => cloudFiles.remove(kept.name, signal), null],
    [() => cloudFiles.insert({ ...expired, expiresAt: past }, signal), 'file.created uploaded expired'],
    [() => cloudFiles.remove(expired.name, signal), 'file.deleted expired expired'],
    [() => cloudFiles.insert({ ...held, state: 'checking' }, signal), null],
    [() => cloudFiles.change([held.name], { state: null }, signal), 'file.created uploaded held'],
    [() => cloudFiles.insert({ ...virus, state: 'checking' }, signal), null],
    [() => cloudFiles.change([virus.name], { state: 'refused' }, signal), null],
    [() => announced.refused(virus, 'Test.Virus', signal), 'file.refused virus'],
    [() => cloudFiles.remove(virus.name, signal), null],
  ];
  const wanted: string[] = [];
  for (const [step, call] of steps) {
    await step();
    if (call !== null) wanted.push(call);
    await receiver.count(wanted.length);
  }
  t.strictSame(told(receiver), wanted);
  const refused = receiver.received.at(-1)?.body;
  t.match(refused, { signature: 'Test.Virus', file: { state: 'refused' } });
  t.match(receiver.received[1]?.body.file, { trashedAt: trashed.toISOString() });
  t.equal(receiver.received[2]?.body.file.trashedAt, undefined);
});

t.test('a deletion into the trash and a restore are told of', async (t) => {
  const { receiver, ask, uploaded, remove } = await open(t, { over: { trashDays: 7 } });
  const { name } = await uploaded();
  t.equal((await remove(name)).status, 204);
  t.equal((await ask(`/_f_/demo/${name}/restore`, { method: 'POST' })).status, 200);
  await receiver.count(3);
  t.strictSame(told(receiver), [
    'file.created uploaded a.txt',
    'file.deleted trashed a.txt',
    'file.created restored a.txt',
  ]);
});

t.test('a gateway of its own sends calls that another process left, and no mails', async (t) => {
  const { db, database } = await openMigratedChdb(t);
  const receiver = await startWebhookReceiver();
  t.teardown(() => receiver.close());
  const begin = (mails: boolean) => {
    const webhooks = testWebhooks({ db, database, singleWriter: true, allowed: loopback, mails });
    t.teardown(() => webhooks.close());
    return webhooks;
  };
  const { url } = receiver;
  const place = { ownerId: ada, project: 'demo', url };
  const about = { file: { name: 'n' } };
  const left = begin(true);
  await left.close();
  await left.promise({
    ...place,
    purpose: 'verifyEmail',
    spaceId: 's',
    space: 'users',
    address: 'a@x',
    webhook: url,
  });
  await left.publishFile({ ...place, type: 'file.created', projectId: 'p', name: 'n', about });
  const gateway = begin(false);
  await gateway.start();
  await receiver.count(1);
  t.equal(receiver.received[0]?.body.event, 'file.created');
  await gateway.close();
  const query = begin(true);
  const mail = { to: 'a@x', subject: 's', text: 't', link: null, code: 'c' };
  query.makeMails(
    async () => mail,
    async () => {},
  );
  await query.start();
  await receiver.count(2);
  t.match(receiver.received[1]?.body, { event: 'mail.verifyEmail', to: 'a@x' });
});

t.test('addresses are checked when they are set', async (t) => {
  const problemsOf = (webhooks: unknown): string[] => {
    const problems: string[] = [];
    readFileRules({ webhooks }, problems);
    return problems;
  };
  const url = 'https://hooks.example.com/files';
  for (const right of [null, [], [{ url }], [{ url, events: ['file.refused'] }]])
    t.strictSame(problemsOf(right), []);
  for (const [wrong, problem] of [
    [{ url }, /array of up to 5/],
    [Array.from({ length: 6 }, (_, n) => ({ url: url + n })), /array of up to 5/],
    [[{ url }, { url }], /each url once/],
    [[url], /should have a url each/],
    [[{ url: 'ftp://example.com' }], /should have a url each/],
    [[{ url: `${url}${'x'.repeat(2048)}` }], /up to 2048 characters/],
    [[{ url, events: [] }], /some of file.created/],
    [[{ url, events: ['file.changed'] }], /some of file.created/],
    [[{ url, secret: 'x' }], /no .*secret.*, only url and events/],
  ] as const)
    t.match(problemsOf(wrong), [problem]);
});
