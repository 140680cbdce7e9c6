import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import t from 'tap';
import { run } from '#load/main.ts';
import { parseMix } from '#load/mix/read-mix.ts';
import { type Spoiling, startSpoilingProxy } from '../services/spoiling-proxy.ts';
import { runToEnd, sluiceFor } from '../services/start-sluice.ts';
import { temporaryFolder } from '../services/temporary-folder.ts';

const sluice = await sluiceFor(t);
const seed = 11;

function mixOf(requests: readonly object[], unique = true): string {
  return JSON.stringify({
    seed,
    spaces: [
      {
        name: 'people',
        records: 50,
        fields: [
          { name: 'email', type: 'TEXT', length: 20, unique },
          { name: 'city', type: 'TEXT', values: 10 },
          { name: 'age', type: 'NUMBER', values: 90 },
        ],
      },
    ],
    requests,
    phases: [{ name: 'load', seconds: 1, rate: 60 }],
  });
}

const inserts = { name: 'insert', kind: 'insert', space: 'people', weight: 2 };
const many = { name: 'many', kind: 'insertMany', space: 'people', weight: 1, records: 3 };
const updates = { name: 'update', kind: 'update', space: 'people', weight: 1 };
const puts = { name: 'put', kind: 'upload', by: 'put', weight: 1, sizes: [{ bytes: 200_000, weight: 1 }] };
const downloads = {
  name: 'down',
  kind: 'download',
  by: 'put',
  weight: 1,
  sizes: [{ bytes: 300_000, weight: 1 }],
};

/** A run through a proxy that spoils one of some requests, or swallows it and the later ones to its address. */
async function spoiltRun(
  requests: readonly object[],
  isIt: (method: string, path: string) => boolean,
  spoiling: Spoiling,
  which = 3,
) {
  let seen = 0;
  let swallowed = '';
  const proxy = await startSpoilingProxy(sluice.baseUrl, (method, path) => {
    if (!isIt(method, path) || (++seen !== which && path !== swallowed)) return null;
    if (spoiling.kind === 'swallow') swallowed = path;
    return spoiling;
  });
  try {
    const result = await run({
      // one that takes the same record twice
      mix: parseMix('mix.json', mixOf(requests, spoiling.kind !== 'double')),
      target: { kind: 'sluice', url: proxy.url, credential: sluice.token, options: {} },
      workers: 1,
      verify: 1,
    });
    return { result, wrong: result.verified?.wrong ?? [], spoilt: proxy.spoilt };
  } finally {
    proxy.close();
  }
}

const isInsert = (method: string, path: string): boolean =>
  method === 'POST' && path.endsWith('/people/_single_');

t.test('nothing is wrong with what a server stores rightly', async (t) => {
  const { result, wrong } = await spoiltRun([inserts, many, updates, puts, downloads], () => false, {
    kind: 'lose',
  });
  t.strictSame(wrong, []);
  t.strictSame(result.totals.codes, {});
  const stored = result.requests.filter(({ name }) => name === 'insert' || name === 'put');
  // with the records that were there before
  t.ok((result.verified?.checked ?? 0) > stored.reduce((sum, { good }) => sum + good, 50));
  t.ok((result.verified?.bytes ?? 0) > 200_000);
});

t.test('a lost record is named', async (t) => {
  const { wrong, spoilt } = await spoiltRun([inserts], isInsert, { kind: 'lose' });
  const { id, email } = JSON.parse(spoilt[0] ?? '');
  t.equal(wrong.length, 1);
  // texts begin with their value, which is the number of the record
  const index = Number.parseInt(email, 36);
  t.equal(wrong[0], `record ${index} of people (id ${id}) is lost`);
});

t.test('a record that is stored twice is named, with both ids', async (t) => {
  const { wrong, spoilt } = await spoiltRun([inserts], isInsert, { kind: 'double' });
  const { id, email } = JSON.parse(spoilt[0] ?? '');
  t.equal(wrong.length, 1);
  t.match(wrong[0], `record ${Number.parseInt(email, 36)} of people is stored 2 times: ids `);
  t.match(wrong[0], id);
});

t.test('a record that another client changed is named, with its field', async (t) => {
  const { wrong, spoilt } = await spoiltRun([inserts], isInsert, {
    kind: 'overwrite',
    with: { city: 'Rome' },
  });
  const { id, email, city } = JSON.parse(spoilt[0] ?? '');
  t.strictSame(wrong, [
    `record ${Number.parseInt(email, 36)} of people (id ${id}) has another city: "Rome", and "${city}" was sent`,
  ]);
});

t.test('an update that the server acknowledged and did not do is named', async (t) => {
  const isUpdate = (_: string, path: string): boolean => path.includes('/update-by-id?');
  // the record of the third request gets its own value back at the end
  const { wrong, spoilt } = await spoiltRun([updates], isUpdate, { kind: 'swallow' }, 4);
  const [, id] = /id=(.*)$/.exec(spoilt[0] ?? '') ?? [];
  t.equal(wrong.length, 1);
  t.match(wrong[0], /^record \d+ of people \(id .*\) has another city: ".*", and ".*" was sent$/);
  t.match(wrong[0], `(id ${id})`);
});

t.test('a changed byte is named by its file and offset, as it is downloaded', async (t) => {
  const isDownload = (method: string, path: string): boolean =>
    method === 'GET' && path.includes('sluice-load-11');
  const { result, wrong, spoilt } = await spoiltRun([downloads], isDownload, {
    kind: 'change',
    offset: 123_456,
  });
  t.equal(wrong.length, 1);
  t.match(
    wrong[0],
    /^file \d+ \(.*\): the byte at offset 123456 is 0x[0-9a-f]{2}, and 0x[0-9a-f]{2} was sent$/,
  );
  t.match(wrong[0], `(${spoilt[0]})`);
  t.match(result.totals, { failed: 1, codes: { wrong_bytes: 1 } });
});

t.test('so is one of an upload, as it is read again', async (t) => {
  const isDownload = (method: string, path: string): boolean =>
    method === 'GET' && path.includes('sluice-load-11');
  const { result, wrong, spoilt } = await spoiltRun([puts], isDownload, { kind: 'change', offset: 199_999 });
  t.equal(result.totals.failed, 0);
  t.equal(wrong.length, 1);
  t.match(wrong[0], `(${spoilt[0]}): the byte at offset 199999 is 0x`);
});

t.test('a lost file is named', async (t) => {
  const isUpload = (method: string, path: string): boolean => method === 'PUT' && path.startsWith('/_f_/');
  const { wrong, spoilt } = await spoiltRun([puts], isUpload, { kind: 'lose' });
  const { name, originalName } = JSON.parse(spoilt[0] ?? '');
  const [, index] = /-(\d+)\.bin$/.exec(originalName) ?? [];
  t.strictSame(wrong, [`file ${index} (/_f_/load/${name}) is lost: 404 not_found`]);
});

t.test('the command ends with the status 2, and names what is wrong', async (t) => {
  let seen = 0;
  const proxy = await startSpoilingProxy(sluice.baseUrl, (method, path) =>
    isInsert(method, path) && ++seen === 2 ? { kind: 'lose' } : null,
  );
  t.teardown(() => proxy.close());
  const file = join(await temporaryFolder(t), 'mix.json');
  await writeFile(file, mixOf([inserts, puts]));
  const args = ['load', file, '--verify', '100%', '--workers', '2', '--cleanup', '--target'];
  const env = { SLUICE_TOKEN: sluice.token };
  const spoilt = await runToEnd('cli/sluice.ts', [...args, proxy.url], env);
  t.equal(spoilt.status, 2, spoilt.stderr);
  t.match(spoilt.stdout, /record \d+ of people \(id [\w-]+\) is lost/);
  const right = await runToEnd('cli/sluice.ts', [...args, sluice.baseUrl], env);
  t.equal(right.status, 0, right.stderr);
  const headers = { authorization: `Bearer ${sluice.token}` };
  const left = (await (await fetch(`${sluice.baseUrl}/_f_/load?limit=1`, { headers })).json()) as {
    files: unknown[];
  };
  t.strictSame(left.files, [], 'nothing is left of any run');
});

t.test('what can not be verified is refused before the run', async (t) => {
  await t.rejects(
    run({
      mix: parseMix(
        'mix.json',
        JSON.stringify({ requests: [{ name: 'a', kind: 'request', weight: 1, method: 'GET', path: '/' }] }),
      ),
      target: { kind: 'http', url: sluice.baseUrl, credential: null, options: {} },
      verify: 0.5,
    }),
    /a target of kind http can't be verified/,
  );
});
