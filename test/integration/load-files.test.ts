import t from 'tap';
import { download } from '#load/files/download.ts';
import { Exchange } from '#load/files/exchange.ts';
import type { StoredFile } from '#load/files/file-session.ts';
import { performFile } from '#load/files/perform-file.ts';
import type { FileRequest } from '#load/mix/mix.ts';
import { fileSessionTo } from '../services/load-files.ts';
import { sluiceFor } from '../services/start-sluice.ts';

const sluice = await sluiceFor(t, { env: { MAX_UPLOAD_BYTES: '30000000' } });
const session = fileSessionTo(sluice.baseUrl, sluice.token);
t.teardown(() => session.close());
const { signal } = new AbortController();

function requestOf(by: FileRequest['by'], ...sizes: number[]): FileRequest {
  const all = sizes.map((bytes) => ({ bytes, weight: 1 }));
  return { name: by, weight: 1, think: 0, kind: 'upload', by, sizes: all };
}

t.test('files go up in each way, and come down as they were', async (t) => {
  for (const by of ['form', 'put', 'tus', 'direct'] as const) {
    for (const [at, bytes] of [0, 1, 65_536, 20_000_000].entries()) {
      const number = at + 100;
      const outcome = await performFile(session, requestOf(by, bytes), number, signal);
      t.match(outcome, { good: true, status: 200, code: null }, `${by} ${bytes}`);
      t.ok(
        outcome.sentBytes > bytes && outcome.sentBytes < bytes + 5000,
        `${outcome.sentBytes} for ${bytes}`,
      );
      const { stored } = outcome;
      t.match(stored, { kind: 'file', index: number, bytes });
      if (stored?.kind !== 'file') continue;
      t.equal(await download(new Exchange(session, signal), stored), null);
      // the bytes of another file
      if (bytes > 1)
        t.match(
          await download(new Exchange(session, signal), { ...stored, index: 5 }),
          /^file 5 .*: the byte at offset \d+ is 0x/,
        );
      t.match(
        await download(new Exchange(session, signal), { ...stored, bytes: bytes + 1 }),
        `it has ${bytes} bytes, and ${bytes + 1} were sent`,
      );
    }
  }
});

t.test('a refusal is told by its code, and the next request goes on', async (t) => {
  const large = await performFile(session, requestOf('put', 40_000_000), 1, signal);
  t.match(large, { good: false, status: 413, code: 'payload_too_large' });
  const stranger = { ...session, token: 'not-a-token' };
  for (const by of ['form', 'put', 'tus', 'direct'] as const)
    t.match(await performFile(stranger, requestOf(by, 100), 1, signal), {
      good: false,
      status: 401,
      code: 'unauthorized',
    });
  t.match(await performFile(session, requestOf('form', 100), 1, signal), { good: true });
});

t.test('downloads choose among stored files, the same for the same number', async (t) => {
  const files: StoredFile[] = [];
  for (const index of [10, 11, 12]) {
    const { stored } = await performFile(session, requestOf('put', 1000), index, signal);
    if (stored?.kind === 'file') files.push(stored);
  }
  const stored = { ...session, files: { down: [files] } };
  const request: FileRequest = { ...requestOf('put', 1000), name: 'down', kind: 'download' };
  for (let number = 0; number < 10; number++) {
    const outcome = await performFile(stored, request, number, signal);
    t.match(outcome, { good: true, status: 200 });
    t.ok(outcome.receivedBytes > 1000);
  }
});

t.test('a mix of sizes sends each as often as its weight says', async (t) => {
  const request = {
    ...requestOf('put'),
    sizes: [
      { bytes: 1, weight: 3 },
      { bytes: 2, weight: 1 },
    ],
  };
  const sizes = [];
  for (let number = 0; number < 60; number++) {
    const { stored } = await performFile(session, request, number, signal);
    sizes.push(stored?.kind === 'file' ? stored.bytes : 0);
  }
  const small = sizes.filter((bytes) => bytes === 1).length;
  t.ok(small > 30 && small < 58, `${small}`);
});

t.test('an aborted request is one failure', async (t) => {
  const reason = Object.assign(new Error('too late'), { code: 'timeout' });
  t.match(await performFile(session, requestOf('put', 20_000_000), 1, AbortSignal.abort(reason)), {
    good: false,
    status: 0,
    code: 'timeout',
  });
  t.match(await performFile(session, requestOf('put', 100), 1, signal), { good: true });
});
