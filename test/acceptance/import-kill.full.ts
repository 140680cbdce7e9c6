/**
 * kill -9 at random moments of an import: its records are there as a whole or not at all, from the first request that the
 * next process answers, and in the end they are there.
 */
import { randomInt } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import t from 'tap';
import { fieldsOf, structureOf } from '../services/record-client.ts';
import { killAll, removeData, type Sluice, startSluice } from '../services/start-sluice.ts';
import { sized } from '../services/test-size.ts';

const kills = Number(process.env.KILLS ?? sized(12, 4));
const records = 30_000;
const structure = structureOf('p', 'rows', fieldsOf('key TEXT unique, number NUMBER, text TEXT'));

async function ask(sluice: Sluice, path: string, more: RequestInit = {}): Promise<Response> {
  const headers = { authorization: `Bearer ${sluice.token}`, ...more.headers };
  return fetch(sluice.baseUrl + path, { ...more, headers });
}

async function countOf(sluice: Sluice): Promise<number> {
  const answer = await ask(sluice, '/p/rows/_count_', { headers: { structure } });
  return ((await answer.json()) as { count: number }).count;
}

t.test('all of them, or none', async (t) => {
  let sluice = await startSluice();
  t.teardown(async () => {
    await killAll([sluice]);
    await removeData(sluice);
  });
  const creating = { structure, 'auto-create-project': 'true', 'auto-create-record-space': 'true' };
  const json = { ...creating, 'content-type': 'application/json' };
  await ask(sluice, '/p/rows/_single_', { method: 'POST', headers: json, body: '{"key":"first"}' });
  let expected = 1;
  const outcomes = { before: 0, after: 0 };
  for (let round = 0; round < kills; round++) {
    const lines = Array.from({ length: records }, (_, at) => `r${round} ${at},${at},some text of a record`);
    const body = `key,number,text\n${lines.join('\n')}\n`;
    const begun = await ask(sluice, '/p/rows/_import_', {
      method: 'POST',
      headers: { 'content-type': 'text/csv' },
      body,
    });
    t.equal(begun.status, 202);
    const { id } = (await begun.json()) as { id: string };
    await sleep(randomInt(900));
    await sluice.kill();
    sluice = await startSluice({ dataDir: sluice.dataDir });
    let count = await countOf(sluice);
    if (count !== expected && count !== expected + records)
      t.fail(`${count} records, and there were ${expected}`);
    outcomes[count === expected ? 'before' : 'after']++;
    for (;;) {
      const job = (await (await ask(sluice, `/_jobs_/${id}`)).json()) as {
        state: string;
        error: string | null;
      };
      count = await countOf(sluice);
      if (count !== expected && count !== expected + records)
        t.fail(`${count} records, and there were ${expected}`);
      if (job.state === 'done') break;
      if (job.state === 'failed') throw new Error(job.error ?? '');
      await sleep(20);
    }
    expected = await countOf(sluice);
  }
  t.comment(`${kills} kills: ${JSON.stringify(outcomes)}; ${expected} records`);
  t.equal(expected, 1 + records * kills);
});
