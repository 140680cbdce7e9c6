import { mkdtemp, readdir, rename, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import t from 'tap';
import { removeData, startSluice } from '../services/start-sluice.ts';
import { uploadSuite } from './upload-suite.ts';

// the bound is counted in the same way whatever it is
const mostBytes = 20_000_000;
const sluice = await startSluice({ env: { MAX_UPLOAD_BYTES: String(mostBytes) } });
const folder = await mkdtemp(join(tmpdir(), 'sluice-files-'));
t.teardown(async () => {
  await sluice.stop();
  await removeData(sluice);
  await rm(folder, { recursive: true, force: true });
});
const files = join(sluice.dataDir, 'files');

t.test('the file system store', async (t) => {
  await uploadSuite(t, {
    sluice,
    folder,
    mostBytes,
    async leftovers(name) {
      const found = await readdir(files, { recursive: true });
      return found.filter((path) => path.includes(name) || path.startsWith('tmp/'));
    },
  });
});

t.test('a store that fails is a 500, and the next upload works again', async (t) => {
  const upload = async (): Promise<[number, string | undefined]> => {
    const body = new FormData();
    body.set('file', new Blob(['x']), 'x.txt');
    const headers = { authorization: `Bearer ${sluice.token}` };
    const response = await fetch(`${sluice.baseUrl}/_f_/media/upload`, { method: 'POST', headers, body });
    return [response.status, ((await response.json()) as { code?: string }).code];
  };
  // the folder of objects is replaced by a file, which stops even root
  const objects = join(files, 'objects');
  await rename(objects, `${objects}-away`);
  await writeFile(objects, '');
  t.strictSame(await upload(), [500, 'internal_error']);
  await rm(objects);
  await rename(`${objects}-away`, objects);
  t.strictSame(await upload(), [200, undefined]);
});
