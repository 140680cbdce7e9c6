import { readdirSync, readFileSync } from 'node:fs';
import { join, relative } from 'node:path';
import t from 'tap';
import { importPath } from '../services/import-path.ts';

const root = join(import.meta.dirname, '../..');

/** The plan of the house: each room, and the rooms that it may import from. */
const plan: Readonly<Record<string, string>> = {
  kernel: '',
  coordination: 'kernel',
  engine: 'kernel coordination',
  objects: 'kernel',
  server: 'kernel coordination',
  catalogue: 'kernel coordination engine',
  auth: 'kernel coordination engine server catalogue',
  process: 'kernel coordination engine server catalogue auth',
  records: 'kernel coordination engine catalogue auth',
  query: 'kernel coordination engine objects server catalogue auth process records',
  gateway: 'kernel coordination engine objects server catalogue auth process',
  events: 'kernel engine server auth process',
  console: 'kernel coordination objects server catalogue auth process client',
  client: '',
  load: 'client',
  cli: 'kernel engine objects auth process records query gateway client load',
};

/** The folders of a room, the lowest first: a folder imports only from those before it. Files beside them are their face. */
const floors: Readonly<Record<string, readonly string[]>> = {
  kernel: [
    'errors',
    'ids',
    'json',
    'record-events',
    'limits',
    'log',
    'config',
    'telemetry',
    'durable-files',
    'http-client',
    'mail',
  ],
  coordination: ['redis', 'rate-limits'],
  server: ['openapi', 'http'],
  process: ['process-routes', 'lifecycle'],
  records: [
    'types',
    'structure',
    'input',
    'sql',
    'memory',
    'unique',
    'store',
    'store-embedded',
    'store-shared',
  ],
  query: [
    'input',
    'file-fields',
    'space',
    'login',
    'usage',
    'imports',
    'openapi',
    'live',
    'operations',
    'projects',
    'files',
  ],
  gateway: [
    ...['digest', 'memory', 'inspect', 'scan', 'receive', 'multipart'],
    ...['catalogue', 'links', 'files', 'plans', 'access', 'quarantine'],
    ...['download', 'images', 'folders', 'resumable', 'direct', 'janitor', 'operations'],
  ],
};

/** Where a room lies, if not in the root: the longest path decides. */
const homes: readonly (readonly [string, string])[] = [
  ...['kernel', 'coordination', 'engine', 'objects', 'server', 'catalogue', 'auth', 'process'].map(
    (room) => [room, `common/${room}`] as const,
  ),
  ['records', 'query/records'],
];

/** The wiring of a process hands one service what it needs of another. */
const wiring = ['query/main.ts', 'gateway/main.ts', 'cli/with-gateway.ts'].map(
  (from) => `${from} events/open-events.ts`,
);

/** Packages that one folder alone imports. */
const keepers: readonly (readonly [RegExp, string])[] = [
  [/^uWebSockets\.js$/, 'common/server/http/'],
  [/^(?:chdb|@clickhouse\/)/, 'common/engine/'],
  [/^ioredis$/, 'common/coordination/redis/'],
  [/^@aws-sdk\//, 'common/objects/s3/'],
  [/^nodemailer/, 'common/kernel/mail/'],
  [/^openid-client$/, 'common/auth/'],
  [/^hdr-histogram-js$/, 'load/'],
];

interface Import {
  readonly from: string;
  /** A path from the root, or a package. */
  readonly to: string;
}

const imports = ['cli', 'client/src', 'load', 'common', 'events', 'query', 'gateway', 'console'].flatMap(
  importsIn,
);

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
        to: importPath(from, to),
      }));
    });
}

/** The room of a file; undefined: it is a package, or main.ts. */
function roomOf(path: string): string | undefined {
  const [room] = homes.find(([, home]) => path.startsWith(`${home}/`)) ?? [path.split('/')[0] as string];
  return Object.hasOwn(plan, room) ? room : undefined;
}

/** The folder of a file inside its room; undefined: the file lies in the room itself. */
function folderOf(path: string, room: string): string | undefined {
  const [, home = room] = homes.find(([name]) => name === room) ?? [];
  const inside = relative(home, path).split('/');
  return inside.length > 1 ? inside[0] : undefined;
}

t.test('rooms import from each other as the plan says', async (t) => {
  const arrows = new Map(Object.entries(plan).map(([room]) => [room, new Set<string>()]));
  for (const { from, to } of imports) {
    const [one, other] = [roomOf(from), roomOf(to)];
    if (one === undefined || other === undefined || one === other) continue;
    if (wiring.includes(`${from} ${to}`)) continue;
    arrows.get(one)?.add(other);
    t.ok(plan[one]?.split(' ').includes(other), `${from} imports ${to}`);
  }
  for (const [room, allowed] of Object.entries(plan)) {
    const unused = allowed.split(' ').filter((other) => other !== '' && !arrows.get(room)?.has(other));
    t.strictSame(unused, [], `${room} needs all that the plan allows`);
  }
});

t.test('every folder of common is a room, and every folder of a room has its floor', async (t) => {
  const foldersIn = (path: string): string[] =>
    readdirSync(join(root, path), { withFileTypes: true })
      .filter((entry) => entry.isDirectory())
      .map(({ name }) => name)
      .sort();
  const inCommon = homes.flatMap(([room, home]) => (home.startsWith('common/') ? [room] : []));
  t.strictSame(foldersIn('common'), inCommon.sort());
  for (const [room, folders] of Object.entries(floors)) {
    const [, home = room] = homes.find(([name]) => name === room) ?? [];
    t.strictSame(
      foldersIn(home).filter((name) => name !== 'records'),
      [...folders].sort(),
      room,
    );
  }
});

t.test('inside a room nothing imports upward', async (t) => {
  for (const [room, folders] of Object.entries(floors)) {
    const inside = imports.filter(({ from, to }) => roomOf(from) === room && roomOf(to) === room);
    t.ok(inside.length > 0, room);
    const upward = inside.filter(({ from, to }) => {
      const [upper, lower] = [folderOf(from, room), folderOf(to, room)];
      if (upper === undefined || upper === lower) return false;
      return lower === undefined || folders.indexOf(lower) > folders.indexOf(upper);
    });
    t.strictSame(upward, [], room);
  }
});

t.test('no file imports itself by way of others', async (t) => {
  const left = new Map<string, Set<string>>();
  // types of the client name each other
  for (const { from, to } of imports.filter(({ from }) => !from.startsWith('client/')))
    left.set(from, (left.get(from) ?? new Set()).add(to));
  // what imports nothing that is left is in no circle
  for (let before = -1; before !== left.size; ) {
    before = left.size;
    for (const [from, to] of left) if (![...to].some((file) => left.has(file))) left.delete(from);
  }
  t.strictSame([...left.keys()], []);
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
