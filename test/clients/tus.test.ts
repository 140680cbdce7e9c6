/** go-tus and tus_client of Rust, as they are: whole, in parts, by POST alone, and cut. They take nothing but a 204 for a PATCH. */
import { execFile } from 'node:child_process';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import t from 'tap';
import { patternBytes } from '../integration/object-store-contract.ts';
import { buildGo, buildRust } from '../services/built-clients.ts';
import { sluiceFor } from '../services/start-sluice.ts';
import { startTcpProxy } from '../services/tcp-proxy.ts';
import { temporaryFolder } from '../services/temporary-folder.ts';

const run = promisify(execFile);
const film = patternBytes(3_000_000);
const programs = { 'go-tus': await buildGo('tus'), tus_client: await buildRust('tus') };

for (const [name, program] of Object.entries(programs)) {
  if (program === null) t.comment(`NOT TESTED with ${name}: there is no compiler for it.`);
  t.test(`${name} ends its uploads`, { skip: program === null }, async (t) => {
    const sluice = await sluiceFor(t);
    const folder = await temporaryFolder(t);
    const { hostname: host, port } = new URL(sluice.baseUrl);
    let cuts = 0;
    const cutting = await startTcpProxy({
      target: { host, port: Number(port) },
      onConnection({ toTarget }) {
        if (cuts++ < 3) toTarget.set({ cutAfterBytes: 700_000 });
      },
    });
    t.teardown(() => cutting.close());
    for (const [way, url, partBytes, method] of [
      ['whole', sluice.baseUrl, 5_000_000, 'patch'],
      ['parts', sluice.baseUrl, 700_000, 'patch'],
      ['post', sluice.baseUrl, 700_000, 'post'],
      ['cut', cutting.url, 5_000_000, 'patch'],
    ] as const) {
      const file = join(folder, `${way}.mp4`);
      await writeFile(file, film);
      const { stdout } = await run(
        program ?? '',
        [`${url}/_f_/demo/resumable`, file, `${partBytes}`, method],
        { env: { TOKEN: sluice.token }, timeout: 30_000 },
      );
      const headers = { authorization: `Bearer ${sluice.token}` };
      const { s3Link, originalName } = (await (await fetch(stdout.trim(), { headers })).json()) as {
        s3Link: string;
        originalName: string;
      };
      t.equal(originalName, `${way}.mp4`);
      const stored = await (await fetch(s3Link)).arrayBuffer();
      t.ok(film.equals(Buffer.from(stored)), `${way}: the bytes are the same`);
    }
    t.ok(cuts > 1, 'it was cut');
    const list = await fetch(`${sluice.baseUrl}/_f_/demo`, {
      headers: { authorization: `Bearer ${sluice.token}` },
    });
    const text = await list.text();
    t.equal(text.match(/"originalName"/g)?.length, 4, 'each file is stored once');
  });
}
