/** A fatal native error of the embedded engine's process: it is gone, and a restart policy sees that. */
import t from 'tap';
import { call, fieldsOf, structureOf } from '../services/record-client.ts';
import { type Sluice, sluiceFor } from '../services/start-sluice.ts';

const structure = structureOf('crash', 'things', fieldsOf('n NUMBER'));

async function upload(sluice: Sluice, content: string): Promise<string | null> {
  const body = new FormData();
  body.set('file', new Blob([content]), 'a.txt');
  const headers = { authorization: `Bearer ${sluice.token}` };
  const response = await fetch(`${sluice.baseUrl}/_f_/crash/upload`, { method: 'POST', headers, body });
  const { s3Link } = (await response.json()) as { s3Link: string };
  return response.status === 200 ? new URL(s3Link).pathname : null;
}

/** Writes until the process is gone. Answers what was acknowledged. */
async function writeUntilGone(sluice: Sluice, onFirst: () => void) {
  const numbers: number[] = [];
  const files = new Map<string, string>();
  const { baseUrl, token } = sluice;
  const writers = Array.from({ length: 6 }, async (_, writer) => {
    for (let n = writer; ; n += 6) {
      try {
        if (writer < 3) {
          const path = '/crash/things/_single_';
          if ((await call({ baseUrl, token, path, structure, body: { n } })).status === 200) numbers.push(n);
        } else {
          const path = await upload(sluice, `content ${n}`);
          if (path !== null) files.set(path, `content ${n}`);
        }
      } catch {
        return;
      }
      if (numbers.length >= 20 && files.size >= 20) onFirst();
    }
  });
  await Promise.all(writers);
  return { numbers, files };
}

for (const signal of ['SIGSEGV', 'SIGABRT', 'SIGBUS'] as const) {
  // well below the minutes for which the engine's own handler hangs
  t.test(`${signal} ends the process, and what was acknowledged is there`, { timeout: 90_000 }, async (t) => {
    const sluice = await sluiceFor(t);
    const { numbers, files } = await writeUntilGone(sluice, () => sluice.process.kill(signal));
    t.equal(await sluice.ended(), null);
    t.equal(sluice.process.signalCode, signal);
    const again = await sluice.restart();
    t.teardown(() => again.kill());
    const { baseUrl, token } = again;
    const { body } = await call({ baseUrl, token, path: '/crash/things', structure });
    const found = new Set((body as { n: number }[]).map(({ n }) => n));
    t.strictSame(
      numbers.filter((n) => !found.has(n)),
      [],
      `${numbers.length} records`,
    );
    for (const [path, content] of files) {
      const text = await (await fetch(baseUrl + path)).text();
      if (text !== content) t.fail(`${path}: ${text}`);
    }
    t.comment(`${files.size} files`);
    t.equal(await again.stop(), 0, 'SIGTERM drains as before');
  });
}
