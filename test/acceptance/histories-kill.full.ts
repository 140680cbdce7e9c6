/**
 * Histories of a process that is killed (SIGKILL) in the middle of them and started again: what it acknowledged before, a
 * read finds after, and what it did not is there whole or not at all.
 *
 *   HISTORIES=full TEST_SEED=7 node --import tsx test/acceptance/histories-kill.full.ts
 */
import t from 'tap';
import { recordHistory, requestedHistory, type Send } from '../services/record-history.ts';
import { sendOverHttp } from '../services/send-over-http.ts';
import { sluiceFor } from '../services/start-sluice.ts';

const { operations, seed } = requestedHistory({ usual: 1200, full: 10_000 });
const kills = 2;
t.setTimeout(300_000 + operations * 30);

let sluice = await sluiceFor(t);

t.test('acknowledged writes survive a kill, and histories over it are linearizable', async (t) => {
  let up: Promise<unknown> = Promise.resolve();
  let killed = 0;
  const send = sendOverHttp(() => sluice);
  // clients that find nobody wait for the process, as they would
  const patient: Send = async (call) => {
    await up;
    return send(call);
  };
  const restart = async (): Promise<void> => {
    await sluice.kill();
    sluice = await sluice.restart();
  };
  const { problems, reads, writes, unknown, outcomes } = await recordHistory({
    processes: [patient],
    operations,
    seed,
    slug: 'killed',
    writeShare: 0.3,
    onProgress: (share) => {
      if (killed === kills || share < (killed + 1) / (kills + 1)) return;
      killed++;
      up = up.then(restart);
    },
  });
  await up;
  t.strictSame(problems, []);
  t.equal(killed, kills);
  t.comment(`seed ${seed}: ${writes} writes, ${unknown} of them without an answer, ${reads} reads`);
  t.comment(JSON.stringify([...outcomes]));
});
