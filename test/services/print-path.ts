import { Session } from 'node:inspector/promises';
import { relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import { openQueryHarness, spaceOf } from './query-harness.ts';
import { structureOf } from './record-client.ts';

/**
 * `node --import tsx test/services/print-path.ts`: which files of query/ a find and an insertOne pass, room by room, with the functions that are called.
 * The space is known, and in memory for the third.
 */
const root = new URL('../../', import.meta.url);
const rooms = [
  ...[
    'query-service.ts',
    'query-parts.ts',
    'operations.ts',
    'projects',
    'usage',
    'operations',
    'openapi',
    'login',
    'space',
    'input',
  ],
  ...['records', 'records/store-shared', 'records/store-embedded', 'records/store', 'records/unique'],
  ...['records/memory', 'records/sql', 'records/input', 'records/structure'],
];

/** The room of a file of query/. */
function roomOf(file: string): number {
  const folders = file.split('/').slice(1, -1);
  return rooms.indexOf(folders.length === 0 ? (file.split('/')[1] as string) : folders.slice(0, 2).join('/'));
}

/** Functions that are called while work is done, by file. */
async function calledBy(work: () => Promise<unknown>): Promise<ReadonlyMap<string, readonly string[]>> {
  const session = new Session();
  session.connect();
  await session.post('Profiler.enable');
  await session.post('Profiler.startPreciseCoverage', { callCount: true, detailed: true });
  await work();
  const { result } = await session.post('Profiler.takePreciseCoverage');
  session.disconnect();
  const called = new Map<string, readonly string[]>();
  for (const { url, functions } of result) {
    if (!url.startsWith(`${root}query/`)) continue;
    const names = functions.filter(({ ranges }) => (ranges[0]?.count ?? 0) > 0).map((of) => of.functionName);
    const named = [...new Set(names.filter((name) => /^[^_<]/.test(name)))];
    if (names.length > 0) called.set(relative(fileURLToPath(root), fileURLToPath(url)), named);
  }
  return called;
}

function print(title: string, called: ReadonlyMap<string, readonly string[]>): void {
  console.log(`\n${title}: ${called.size} files of query/`);
  for (const [file, names] of [...called].sort(([a], [b]) => roomOf(a) - roomOf(b) || (a < b ? -1 : 1)))
    console.log(`  ${file.padEnd(44)} ${names.join(' ')}`);
}

for (const singleWriter of [true, false]) {
  const harness = await openQueryHarness({ singleWriter, pending: { fewestMisses: 50 } });
  const fields = [
    { name: 'email', type: 'TEXT', unique: true },
    { name: 'age', type: 'NUMBER' },
  ];
  const space = spaceOf(harness, 'p', 's', structureOf('p', 's', fields));
  await space.insertOne({ email: 'a', age: 1 });
  await space.find();
  const store = singleWriter ? 'store-embedded' : 'store-shared';
  print(`find, ${store}`, await calledBy(() => space.find([['age', '2']])));
  print(`insertOne, ${store}`, await calledBy(() => space.insertOne({ email: 'b', age: 1 })));
  if (singleWriter) {
    for (let age = 3; age < 20; age++) await space.find([['age', String(age)]]);
    print('find in memory, store-embedded', await calledBy(() => space.find([['age', '1']])));
  }
  await harness.close();
}
