/** A start took longer for modules, caches and tables that most processes never use. */
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import t from 'tap';
import { importPath } from '../services/import-path.ts';

const root = join(import.meta.dirname, '../..');

/** What a process loads to run all services on the embedded stores. */
const entries = [
  'common/process/lifecycle/run-process.ts',
  'gateway/gateway-service.ts',
  'events/open-events.ts',
  'query/query-service.ts',
  'console/console-service.ts',
];

/** Files and packages that these import by statements, and by the files' own statements. */
function loadedBy(files: readonly string[]): ReadonlySet<string> {
  const loaded = new Set<string>();
  const waiting = [...files];
  for (let file = waiting.pop(); file !== undefined; file = waiting.pop()) {
    if (loaded.has(file)) continue;
    loaded.add(file);
    if (!existsSync(join(root, file))) continue;
    const text = readFileSync(join(root, file), 'utf8');
    for (const [, to = ''] of text.matchAll(/^(?:import|export)(?! type\b)[^;']*'([^']+)';/gm))
      waiting.push(importPath(file, to));
  }
  return loaded;
}

const loaded = [...loadedBy(entries)];

t.test('a start loads nothing that only a login, Redis, a server or S3 needs', async (t) => {
  t.ok(loaded.length > 300, `${loaded.length}`);
  for (const later of [
    ...[/^jose$/, /^ioredis$/, /^@aws-sdk\//, /^@clickhouse\/client/, /^@opentelemetry\//],
    ...[/^query\/store-shared\//, /redis-reservations\.ts$/, /shared-failures\.ts$/, /supervisor\.ts$/],
  ]) {
    t.strictSame(
      loaded.filter((name) => later.test(name)),
      [],
      String(later),
    );
  }
});

t.test('caches of many entries have no places before they have entries', async (t) => {
  // it is made only where requests of an address are limited
  const files = loaded.filter((file) => file.endsWith('.ts') && !/request-limiter|redis-inval/.test(file));
  const large = files.filter((file) => {
    const text = readFileSync(join(root, file), 'utf8');
    const names = [...text.matchAll(/new LRUCache[^;]*?\{ ?max: (\w+)/g)].map(([, name]) => name);
    return names.some((name) => {
      const [, value = '0'] = new RegExp(`const ${name} = ([\\d_]+);`).exec(text) ?? [];
      return Number(value.replaceAll('_', '')) >= 10_000;
    });
  });
  t.strictSame(large, [], 'they should be made with upTo (common/kernel/limits/up-to.ts)');
});

t.test('names of time zones are read with the first request that names one', async (t) => {
  const known = Intl.supportedValuesOf;
  t.teardown(() => {
    Intl.supportedValuesOf = known;
  });
  let reads = 0;
  Intl.supportedValuesOf = (key) => {
    reads++;
    return known(key);
  };
  const { TimeZone } = await import('#records/types/time-zone.ts');
  await import('#query/input/parse-aggregate.ts');
  t.equal(TimeZone.named('UTC'), TimeZone.utc);
  t.equal(reads, 0);
  t.equal(TimeZone.named('Europe/Paris')?.name, 'Europe/Paris');
  // another test of this process may have read them before
  t.ok(reads <= 1);
});
