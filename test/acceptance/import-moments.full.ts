/**
 * kill -9 at every moment of an import. The next process goes on with all imports that were acknowledged, although nobody
 * asks it for their space: a request for it would end the change that the killed process left.
 */
import { randomInt } from 'node:crypto';
import t from 'tap';
import { type ImportMoment, importMoments } from '../services/import-moments.ts';
import { call, fieldsOf, structureOf } from '../services/record-client.ts';
import { startClickhouse } from '../services/start-clickhouse.ts';
import { killAll, type Sluice, startSluice } from '../services/start-sluice.ts';
import { sized } from '../services/test-size.ts';
import { untilOver } from '../services/until-over.ts';

const isServed = process.env.SLUICE_TEST_SERVED !== undefined;
const clickhouse = isServed ? await startClickhouse() : null;
t.teardown(() => clickhouse?.close());
const kills = Number(process.env.KILLS ?? sized(isServed ? 24 : 100, importMoments.length));
/** Servers at once: one of several processes waits for a minute before it takes over what another one left. */
const atOnce = isServed ? 4 : 1;
t.setTimeout(3_600_000);

const lines = 500;
const structure = structureOf('p', 'rows', fieldsOf('key TEXT unique, number NUMBER'));
const preloads = ['test/services/kill-preload.ts'];

/** The id of an import's job; null: it was not acknowledged. */
async function begun(sluice: Sluice, space: string, name: string): Promise<string | null> {
  const rows = Array.from({ length: lines }, (_, at) => `${name} ${at},${at}`);
  try {
    const answer = await fetch(`${sluice.baseUrl}/p/${space}/_import_`, {
      method: 'POST',
      headers: { authorization: `Bearer ${sluice.token}`, 'content-type': 'text/csv' },
      body: `key,number\n${rows.join('\n')}\n`,
    });
    const job = (await answer.json()) as { id: string };
    return answer.status === 202 ? job.id : null;
  } catch {
    return null;
  }
}

interface Tally {
  kills: number;
  acknowledged: number;
  done: number;
}

/** One round: two imports into a space of their own, of which the first meets the kill. */
async function killedAt(
  { dataDir, env }: { readonly dataDir?: string; readonly env: Record<string, string> },
  moment: ImportMoment | number,
  space: string,
  tally: Tally,
): Promise<Sluice> {
  const killing = typeof moment === 'number' ? {} : { SLUICE_TEST_KILL_AT: moment };
  const where = dataDir === undefined ? {} : { dataDir };
  const first = await startSluice({ ...where, preloads, env: { ...env, ...killing } });
  const place = { ...first, path: `/p/${space}`, structure: structure.replaceAll('"rows"', `"${space}"`) };
  await call({ ...place, path: `/p/${space}/_single_`, method: 'POST', body: { key: 'first' } });
  const ids = await Promise.all(['a', 'b'].map((name) => begun(first, space, name)));
  if (typeof moment === 'number') {
    await new Promise((resolve) => setTimeout(resolve, moment));
    await first.kill();
  } else {
    first.process.kill('SIGUSR2');
    await first.ended();
  }
  tally.kills++;
  const next = await startSluice({ dataDir: first.dataDir, env });
  const acknowledged = ids.filter((id) => id !== null);
  tally.acknowledged += acknowledged.length;
  for (const id of acknowledged) {
    const job = await untilOver(next, id);
    t.match(job, { state: 'done', inserted: lines }, `killed ${moment}`);
    if (job.state === 'done') tally.done++;
  }
  // only now somebody asks for the space
  const found = (await call({ ...place, ...next, path: `/p/${space}` })).body as { key: string }[];
  const names = ['a', 'b'].filter((name) => found.some(({ key }) => key.startsWith(`${name} `)));
  t.ok(names.length >= acknowledged.length);
  const wanted = names.flatMap((name) => Array.from({ length: lines }, (_, at) => `${name} ${at}`));
  t.strictSame(found.map(({ key }) => key).sort(), ['first', ...wanted].sort(), 'each record once');
  await next.kill();
  return next;
}

t.test('an acknowledged import is done whatever its process was doing', async (t) => {
  const tally: Tally = { kills: 0, acknowledged: 0, done: 0 };
  const env: Record<string, string> = clickhouse === null ? {} : { CLICKHOUSE_URL: clickhouse.url };
  const rounds = Array.from({ length: kills }, (_, round) => round);
  const worker = async (): Promise<void> => {
    let last: Sluice | undefined;
    for (let round = rounds.shift(); round !== undefined; round = rounds.shift()) {
      // every other round over all moments, then anywhere
      const named = importMoments[round % (2 * importMoments.length)];
      const dataDir = last === undefined ? {} : { dataDir: last.dataDir };
      last = await killedAt({ ...dataDir, env }, named ?? randomInt(700), `rows-${round}`, tally);
    }
    if (last !== undefined) await killAll([last]);
  };
  await Promise.all(Array.from({ length: atOnce }, worker));
  t.comment(`${isServed ? 'served' : 'embedded'}: ${JSON.stringify(tally)}`);
  t.equal(tally.kills, kills);
  t.equal(tally.done, tally.acknowledged);
});
