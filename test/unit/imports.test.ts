import { readdirSync, readFileSync } from 'node:fs';
import { dirname, join, normalize, relative } from 'node:path';
import t from 'tap';

const root = join(import.meta.dirname, '../..');

/** The rooms of a folder, the lowest first: a room imports only from those before it. */
const rooms = {
  common: [
    ...['errors', 'limits', 'log', 'config', 'telemetry', 'durable-files', 'redis', 'rate-limits'],
    ...['http-client', 'object-store', 'clickhouse', 'metadata', 'record-events', 'openapi', 'http'],
    ...['process-routes', 'auth', 'lifecycle', 'transfer'],
  ],
  query: [
    ...['structure', 'input', 'sql', 'memory', 'unique', 'store', 'store-embedded', 'store-shared'],
    ...['records', 'space', 'login', 'usage', 'imports', 'openapi', 'live', 'operations'],
    ...['operations.ts', 'projects', 'files', 'query-service.ts', 'main.ts'],
  ],
  gateway: ['digest', 'memory', 'receive', 'multipart', 'download'],
} as const;

/** How many pairs of rooms import from one to the other. Less is welcome: then lower the limit. */
const mostArrows = { common: 74, query: 70 } as const;

/** Packages that one folder alone imports. */
const keepers: readonly (readonly [RegExp, string])[] = [
  [/^uWebSockets\.js$/, 'common/http/'],
  [/^(?:chdb|@clickhouse\/)/, 'common/clickhouse/'],
  [/^ioredis$/, 'common/redis/'],
  [/^@aws-sdk\//, 'common/object-store/s3/'],
];

interface Import {
  readonly from: string;
  /** A path from the root, or a package. */
  readonly to: string;
}

const imports = ['common', 'events', 'query', 'gateway', 'console'].flatMap(importsIn);

function importsIn(folder: string): Import[] {
  let names: string[];
  try {
    names = readdirSync(join(root, folder), { recursive: true }) as string[];
  } catch {
    return [];
  }
  return names
    .filter((name) => /\.tsx?$/.test(name))
    .map((name) => join(folder, name))
    .flatMap((from) => {
      const text = readFileSync(join(root, from), 'utf8');
      return [...text.matchAll(/(?:\bfrom|^import|\bimport\() ?'([^']+)'/gm)].map(([, to = '']) => ({
        from,
        to: to.startsWith('.') ? normalize(join(dirname(from), to)) : to,
      }));
    });
}

t.test('nothing imports upward', async (t) => {
  for (const [folder, order] of Object.entries(rooms)) {
    const roomOf = (path: string): string => relative(folder, path).split('/')[0] as string;
    const inside = imports.filter(({ from, to }) =>
      [from, to].every((path) => path.startsWith(`${folder}/`)),
    );
    t.ok(inside.length > 0, folder);
    const upward = inside.filter(({ from, to }) => {
      const [lower, upper] = [roomOf(to), roomOf(from)].map((room) =>
        (order as readonly string[]).indexOf(room),
      );
      return lower !== upper && upper !== -1 && (lower === -1 || (lower as number) > (upper as number));
    });
    t.strictSame(upward, []);
  }
});

t.test('every room of common and query has its place in the order', async (t) => {
  for (const folder of ['common', 'query'] as const) {
    t.strictSame(readdirSync(join(root, folder)).sort(), [...rooms[folder]].sort());
  }
});

t.test('rooms know few others', async (t) => {
  const room = (path: string): string | undefined => path.split('/')[2] && path.split('/')[1];
  for (const [folder, most] of Object.entries(mostArrows)) {
    const inside = imports.filter(({ from, to }) => [from, to].every((at) => at.startsWith(`${folder}/`)));
    const pairs = inside.map(({ from, to }) => [room(from), room(to)] as const);
    const arrows = new Set(pairs.filter(([from, to]) => from && to && from !== to).map(String));
    t.ok(arrows.size <= most, `${folder}: ${arrows.size} arrows, at most ${most}`);
    t.ok(arrows.size > most - 10, `the limit of ${folder} is not far from what there is`);
  }
});

t.test('no file imports itself by way of others', async (t) => {
  const left = new Map<string, Set<string>>();
  for (const { from, to } of imports) left.set(from, (left.get(from) ?? new Set()).add(to));
  // what imports nothing that is left is in no circle
  for (let before = -1; before !== left.size; ) {
    before = left.size;
    for (const [from, to] of left) if (![...to].some((file) => left.has(file))) left.delete(from);
  }
  t.strictSame([...left.keys()], []);
});

t.test('services import from common, and not from each other', async (t) => {
  const services = ['common', 'events', 'gateway', 'query', 'console'];
  // the wiring of a process hands one what it needs of another
  const wiring = ['query/main.ts events/open-events.ts'];
  const between = imports.filter(({ from, to }) => {
    const [one, other] = [from, to].map((path) => path.split('/')[0] as string) as [string, string];
    const isOther = services.includes(other) && one !== other && other !== 'common';
    return isOther && !wiring.includes(`${from} ${to}`);
  });
  t.strictSame(between, []);
});

t.test('one folder knows each of these packages', async (t) => {
  for (const [name, folder] of keepers) {
    const users = imports.filter(({ to }) => name.test(to));
    t.ok(users.length > 0, String(name));
    t.strictSame(
      users.filter(({ from }) => !from.startsWith(folder)),
      [],
    );
  }
});
