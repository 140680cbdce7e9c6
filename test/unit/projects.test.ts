/** What is known of projects while one of them is removed. */
import t from 'tap';
import { Projects } from '#catalogue/projects.ts';
import type { Database } from '#engine/database.ts';
import { LocalInvalidation } from '../services/local-invalidation.ts';

const { signal } = new AbortController();

/** A table of one project, and processes that know of it. */
function open(amount: number, { singleWriter = false } = {}) {
  let there = true;
  const table = { gate: Promise.resolve(), looks: 0 };
  const db = {
    async rows() {
      const rows = there ? [{}] : [];
      table.looks++;
      await table.gate;
      return rows;
    },
    async command() {
      there = false;
    },
  } as unknown as Database;
  const invalidation = new LocalInvalidation();
  const processes = Array.from(
    { length: amount },
    () => new Projects({ db, database: 'd', singleWriter, invalidation }),
  );
  return { table, processes, invalidation, find: (at: number) => processes[at]?.find('owner', 'p', signal) };
}

t.test('a project that one process removes the others look up again', async (t) => {
  const { table, processes, find } = open(2);
  const project = await find(0);
  await find(1);
  await find(1);
  t.equal(table.looks, 2, 'each looked once');
  await processes[0]?.remove(project as NonNullable<typeof project>, signal);
  t.equal(await find(0), null);
  t.equal(await find(1), null);
});

t.test('a look that began before the removal does not bring the project back', async (t) => {
  const { table, processes, find } = open(1, { singleWriter: true });
  let release = (): void => {};
  table.gate = new Promise((resolve) => {
    release = resolve;
  });
  const early = find(0);
  table.gate = Promise.resolve();
  const project = { id: 'id', ownerId: 'owner', slug: 'p' };
  await processes[0]?.remove(project, signal);
  release();
  t.not(await early, null, 'it was asked before');
  t.equal(await find(0), null);
});

t.test('a removal that is remembered no longer does not leave the project to other processes', async (t) => {
  const { processes, invalidation, find } = open(2);
  const { now } = performance;
  let ahead = 0;
  performance.now = () => now.call(performance) + ahead;
  t.teardown(() => {
    performance.now = now;
  });
  const project = await find(0);
  await find(1);
  await processes[0]?.remove(project as NonNullable<typeof project>, signal);
  // what was published is forgotten after three minutes
  invalidation.changedSince = () => false;
  ahead = 180_000;
  t.equal(await find(1), null);
});

t.test('rules and presets of files that one process sets, the others read again', async (t) => {
  const lines: string[] = [];
  const db = {
    async rows() {
      const [, , , , version = 0, rules = '', presets = ''] = JSON.parse(lines.at(-1) ?? '[0,0,0,0,0,""]');
      return [{ rules, presets, version, created: 0 }];
    },
    async insert(insert: { lines: Uint8Array }) {
      lines.push(Buffer.from(insert.lines).toString());
    },
  } as unknown as Database;
  const invalidation = new LocalInvalidation();
  const [one, other] = [
    new Projects({ db, database: 'd', singleWriter: false, invalidation }),
    new Projects({ db, database: 'd', singleWriter: false, invalidation }),
  ] as const;
  const find = () => other.find('owner', 'p', signal);
  const project = (await find()) as NonNullable<Awaited<ReturnType<typeof find>>>;
  t.equal(project.fileRules, undefined);
  const allow = { upload: null, read: null, list: null, delete: null };
  const rules = { given: {}, users: 'users', allow, maxBytes: 5, types: null };
  await one.setFileRules(project, rules, signal);
  t.strictSame((await find())?.fileRules, rules);
  t.strictSame((await one.find('owner', 'p', signal))?.fileRules, rules);
  const imagePresets = [{ name: 'card', width: 4, height: 3, fit: 'cover' as const }];
  await one.setImagePresets(project, imagePresets, signal);
  t.match(await find(), { fileRules: rules, imagePresets }, 'the rules stay');
  await one.setFileRules(project, null, signal);
  t.strictSame(await find(), { ...project, imagePresets }, 'the presets stay');
  await one.setImagePresets(project, [], signal);
  t.strictSame(await find(), project);
  t.strictSame(
    lines.map((line) => JSON.parse(line)[4]),
    [1, 2, 3, 4],
    'each is a version of its own',
  );
});
