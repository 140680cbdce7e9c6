/** The sample of docs/uploads.md with Python and requests, as a reader would copy it. */
import { spawn } from 'node:child_process';
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import t from 'tap';
import { patternBytes } from '../integration/object-store-contract.ts';
import { installPython } from '../services/python-packages.ts';
import { sluiceFor } from '../services/start-sluice.ts';
import { temporaryFolder } from '../services/temporary-folder.ts';
import { testedS3 } from '../services/tested-s3.ts';
import { watchChild } from '../services/watch-child.ts';

const page = join(import.meta.dirname, '../../docs/uploads.md');
const film = patternBytes(12_000_000);
const requests = await installPython(['requests==2.34.2']);
if (requests === null) t.comment('NOT TESTED with requests: it takes Python 3 with pip to install it.');

t.test('requests sends the parts to the bucket', { skip: requests === null }, async (t) => {
  const sluice = await sluiceFor(t, { env: testedS3 });
  const folder = await temporaryFolder(t);
  const text = await readFile(page, 'utf8');
  const [, sample = ''] = /^## Straight to the bucket\n[\s\S]*?```python\n([\s\S]*?)^```$/m.exec(text) ?? [];
  await writeFile(join(folder, 'film.mp4'), film);
  // once as one object, and once as parts
  for (const wanted of ['', ", 'partBytes': 5 * 1024 * 1024"]) {
    const code = sample
      .replaceAll('http://127.0.0.1:8080', sluice.baseUrl)
      .replace("'contentType': 'video/mp4'", (type) => type + wanted);
    await writeFile(join(folder, 'sample.py'), code);
    const env = {
      PATH: process.env.PATH ?? '',
      HOME: folder,
      PYTHONPATH: requests ?? '',
      TOKEN: sluice.token,
    };
    const { ended, output } = watchChild(spawn('python3', ['sample.py'], { cwd: folder, env }), 'requests');
    t.equal(await ended, 0, output.both);
    const stored = await fetch(output.stdout.trim());
    t.equal(stored.headers.get('content-type'), 'video/mp4');
    t.ok(film.equals(Buffer.from(await stored.arrayBuffer())));
  }
});
