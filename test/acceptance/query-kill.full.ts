/**
 * kill -9 under inserts, updates and deletes: after each restart everything that was acknowledged is there, once, and
 * nothing is half there. TEST_SEED=random kills at other times.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import t from 'tap';
import {
  contradictions,
  path,
  type RoundLog,
  type Stored,
  structureOfRound,
  writeUntilGone,
} from '../services/kill-round.ts';
import { call } from '../services/record-client.ts';
import { seededRandom } from '../services/s3-stub/seeded-random.ts';
import { type Sluice, sluiceFor } from '../services/start-sluice.ts';
import { seed, sized } from '../services/test-size.ts';

const kills = Number(process.env.KILLS ?? sized(50, 4));

t.test(`kill -9 ${kills} times under writes`, { timeout: 3_600_000 }, async (t) => {
  t.comment(`TEST_SEED=${seed}`);
  const random = seededRandom(seed);
  let sluice = await sluiceFor(t);
  const recordsOf = async (server: Sluice, round: number): Promise<readonly Stored[]> => {
    const { baseUrl, token } = server;
    const structure = structureOfRound(round);
    return (await call({ baseUrl, token, path: `${path}?round=${round}`, structure })).body as Stored[];
  };
  /** What each round left, as text. */
  const left: string[] = [];
  const total = { acknowledged: 0, cut: 0, updates: 0, deletes: 0, records: 0, unacknowledged: 0 };
  const count = (log: RoundLog, records: readonly Stored[]): void => {
    total.acknowledged += log.acknowledgements;
    total.cut += log.cut;
    total.deletes += log.deleted.size;
    for (const { acknowledged } of log.updates.values()) total.updates += acknowledged > 0 ? 1 : 0;
    total.records += records.length;
    total.unacknowledged += records.filter(({ key }) => !log.inserted.has(key)).length;
  };

  for (let round = 0; round < kills; round++) {
    // after so much progress; an answer means that a statement has just ended, so a moment later, to meet any part of one
    const target = 10 + Math.floor(random() * 90);
    const moment = random() * 20;
    let killed: Promise<void> | null = null;
    const log = await writeUntilGone(sluice, round, (acknowledged) => {
      if (acknowledged >= target) killed ??= sleep(moment).then(() => sluice.kill());
    });
    await killed;
    sluice = await sluice.restart();
    const records = await recordsOf(sluice, round);
    t.strictSame(contradictions(log, records), [], `round ${round}: ${log.acknowledgements} acknowledged`);
    t.ok(log.cut > 0, `round ${round}: ${log.cut} cut`);
    count(log, records);
    left.push(JSON.stringify(records));

    const { baseUrl, token } = sluice;
    const [some] = [...log.inserted.keys()].filter((key) => !log.deleted.has(key) && !log.deleting.has(key));
    const again = {
      baseUrl,
      token,
      path: `${path}/_single_`,
      structure: structureOfRound(round),
      body: { key: some },
    };
    t.match(await call(again), { status: 400, body: { code: 'not_unique' } }, 'unique values stay unique');
    const headers = { 'use-pre-stored-structure': 'true', mutate: 'false' };
    const stored = await call({ baseUrl, token, path: `${path}/_single_`, headers });
    const fields = ['key', 'batch', 'round', 'n', ...Array.from({ length: round + 1 }, (_, i) => `r${i}`)];
    t.strictSame(
      Object.keys(stored.body),
      ['id', ...fields, 'createdAt', 'updatedAt'],
      'the structure has every field',
    );
  }

  for (const [round, text] of left.entries()) {
    t.equal(JSON.stringify(await recordsOf(sluice, round)), text, `round ${round} is as it was`);
  }
  const { baseUrl, token } = sluice;
  const all = (await call({ baseUrl, token, path, structure: structureOfRound(0) })).body as Stored[];
  t.equal(all.length, total.records, 'no record is of no round');
  t.equal(new Set(all.map(({ key }) => key)).size, all.length, 'every key is there once');
  t.comment(`${kills} kills: ${JSON.stringify(total)}`);

  const space = { path, structure: structureOfRound(0) };
  const clear = { ...space, path: `${path}/clear-records`, method: 'DELETE' };
  t.equal((await call({ ...sluice, ...clear })).status, 200);
  await sluice.kill();
  sluice = await sluice.restart();
  t.strictSame((await call({ ...sluice, ...space })).body, [], 'cleared for good');
});
