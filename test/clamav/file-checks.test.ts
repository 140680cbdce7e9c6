/** Files that are stored before they are scanned: who scans them, and when nobody can. */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import t, { type Test } from 'tap';
import { ownLocks } from '#coordination/redis/process-lock.ts';
import type { CloudFile } from '#gateway/catalogue/cloud-file.ts';
import { objectDescription } from '#gateway/files/object-description.ts';
import { FileChecks } from '#gateway/quarantine/file-checks.ts';
import { quarantineCommand } from '#gateway/quarantine/quarantine-command.ts';
import type { ScanPolicy } from '#gateway/quarantine/scan-policy.ts';
import type { ScannerOptions } from '#gateway/scan/scanner.ts';
import { createFileSystemStore } from '#objects/file-system/file-system-store.ts';
import { badSignature, badText, scannerAt, startClamd, startFaultyScanner } from '../services/clamd.ts';
import { newFile } from '../services/new-file.ts';
import { silentLog } from '../services/silent-log.ts';
import { filesInMemory } from '../services/test-gateway.ts';
import { testJanitor } from '../services/test-janitor.ts';

const clamd = await startClamd();
t.teardown(() => clamd.stop());
const { signal } = new AbortController();

async function setUp(
  t: Test,
  {
    policy = 'hold' as ScanPolicy,
    scanner = {} as Partial<ScannerOptions>,
    address = clamd.address as ScannerOptions['address'],
    patience = 10_000,
    failsToTell = false,
  } = {},
) {
  const root = await mkdtemp(join(tmpdir(), 'sluice-checks-'));
  t.teardown(() => rm(root, { recursive: true }));
  const store = await createFileSystemStore({ root });
  const { rows, cloudFiles } = filesInMemory();
  const told: string[] = [];
  const log = silentLog();
  const checks = new FileChecks({
    scanner: scannerAt(address, scanner),
    ...{ policy, cloudFiles, store, log, patience },
    lock: ownLocks()('scan'),
    alone: true,
    interval: 1e6,
    async onRefused({ name, state }, signature) {
      if (failsToTell) throw new Error('nobody listens');
      told.push(`${name} ${state} ${signature} ${rows.get(name)?.state}`);
    },
  });
  t.teardown(() => checks.close());
  const put = async (content: string, more: Partial<CloudFile> = {}): Promise<CloudFile> => {
    const bytes = Buffer.from(content);
    const file = { ...newFile(), size: bytes.byteLength, state: 'checking' as const, ...more };
    const writer = await store.create(file.objectKey, objectDescription(file), signal);
    await writer.complete({ chunks: [bytes], size: bytes.byteLength, crc32: 0 });
    rows.set(file.name, file);
    return file;
  };
  return { checks, put, rows, told, log, store, cloudFiles };
}

t.test('a stored file is published once it is clean, and refused otherwise', async (t) => {
  const { checks, put, rows, told } = await setUp(t);
  const good = await put('good');
  t.equal((await checks.settle(good)).state, undefined);
  t.equal(rows.get(good.name)?.state, undefined);
  const bad = await put(badText);
  await t.rejects(checks.settle(bad), { code: 'file_refused', message: new RegExp(badSignature) });
  t.equal(rows.get(bad.name)?.state, 'refused');
  t.same(told, [`${bad.name} refused ${badSignature} checking`], 'before its row says so');
  await t.rejects(checks.settle({ ...bad, state: 'refused' }), { code: 'file_refused' });
});

t.test('a refusal that nobody hears is one all the same', async (t) => {
  const { checks, put, rows, log } = await setUp(t, { failsToTell: true });
  const bad = await put(badText);
  await t.rejects(checks.settle(bad), { code: 'file_refused' });
  t.equal(rows.get(bad.name)?.state, 'refused');
  t.match(log.failures.join('\n'), /announced to nobody/);
});

t.test('files of an earlier process are found, and each is scanned', async (t) => {
  const { checks, put, rows } = await setUp(t);
  const files = [];
  for (let at = 0; at < 20; at++) files.push(await put(at % 5 === 0 ? badText : `good ${at}`));
  await checks.look();
  t.same(
    files.map(({ name }) => rows.get(name)?.state),
    files.map((_, at) => (at % 5 === 0 ? 'refused' : undefined)),
  );
});

t.test('a completion waits only for a while, and the verdict comes later', async (t) => {
  const answers: (() => void)[] = [];
  const address = await startFaultyScanner(t, (socket, command) => {
    if (command === 'zPING') socket.end('PONG\0');
    else answers.push(() => socket.end('stream: OK\0'));
  });
  const { checks, put, rows } = await setUp(t, { address, patience: 50 });
  const file = await put('slow to scan');
  t.equal((await checks.settle(file)).state, 'checking');
  const again = checks.settle(file);
  while (answers.length === 0) await new Promise(setImmediate);
  t.equal(answers.length, 1, 'one scan for both');
  answers[0]?.();
  t.equal((await again).state, undefined);
  t.equal(rows.get(file.name)?.state, undefined);
});

t.test('policies, for files that are too large, and without a scanner', async (t) => {
  const away = { address: { path: '/nowhere/clamd.sock' } };
  for (const [policy, large, unscanned] of [
    ['hold', 'checking', 'checking'],
    ['refuse', 'refused', 'checking'],
    ['publish', undefined, undefined],
  ] as const) {
    const one = await setUp(t, { policy, scanner: { maxBytes: 5 } });
    const file = await one.put('six bytes or more');
    await one.checks.look();
    t.equal(one.rows.get(file.name)?.state, large, `${policy}: too large`);
    const other = await setUp(t, { policy, ...away });
    const waiting = await other.put('good');
    await other.checks.look();
    t.equal(other.rows.get(waiting.name)?.state, unscanned, `${policy}: away`);
    t.equal((await other.checks.settle(waiting)).state, unscanned, `${policy}: away at completion`);
  }
});

t.test('a file that can not be read waits, and holds up no other', async (t) => {
  const { checks, put, rows, store } = await setUp(t);
  const gone = await put('gone');
  await store.delete(gone.objectKey, signal);
  const good = await put('good');
  await checks.look();
  t.equal(rows.get(gone.name)?.state, 'checking');
  t.equal(rows.get(good.name)?.state, undefined);
});

t.test('an object that lost its row is not published unscanned', async (t) => {
  const { store, cloudFiles, rows, checks } = await setUp(t);
  const file = newFile();
  const writer = await store.create(file.objectKey, objectDescription(file), signal);
  await writer.complete({ chunks: [Buffer.from(badText)], size: badText.length, crc32: 0 });
  const janitor = testJanitor({ store, cloudFiles, newState: 'checking' });
  t.match(await janitor.run({ dryRun: false }), { rowsMade: 1 });
  t.equal(rows.get(file.name)?.state, 'checking');
  await checks.look();
  t.equal(rows.get(file.name)?.state, 'refused');
});

t.test('the janitor deletes refused files after their time', async (t) => {
  const { store, cloudFiles, rows, put } = await setUp(t);
  const old = await put(badText, { state: 'refused', createdAt: new Date(Date.now() - 2000) });
  const young = await put(badText, { state: 'refused', createdAt: new Date() });
  const janitor = testJanitor({ store, cloudFiles, quarantineFor: 1000 });
  t.match(await janitor.run({ dryRun: true }), { refusedRemoved: 1 });
  t.equal(rows.size, 2);
  t.match(await janitor.run({ dryRun: false }), { refusedRemoved: 1, failures: 0 });
  t.same([...rows.keys()], [young.name]);
  t.equal(await store.head(old.objectKey, signal), null);
});

t.test('an operator lists and publishes files that are held back', async (t) => {
  const { cloudFiles, rows, put } = await setUp(t);
  const quarantine = quarantineCommand(cloudFiles);
  const held = await put('held');
  const refused = await put(badText, { state: 'refused' });
  const shown = await put('shown', { state: undefined });
  const listed = JSON.parse(await quarantine({ publish: [] }));
  t.match(listed, { checking: [{ name: held.name }], refused: [{ name: refused.name }] });
  await t.rejects(quarantine({ publish: [held.name, shown.name] }), { message: new RegExp(shown.name) });
  t.equal(rows.get(held.name)?.state, 'checking', 'all or none');
  await quarantine({ publish: [held.name, refused.name] });
  t.equal(rows.get(held.name)?.state, undefined);
  t.equal(rows.get(refused.name)?.state, undefined);
});
