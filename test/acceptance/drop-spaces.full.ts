/** kill -9 while spaces are dropped and made again: what was dropped stays away, and what was acknowledged since is there. */
import { setTimeout as sleep } from 'node:timers/promises';
import t from 'tap';
import { call, fieldsOf, structureOf } from '../services/record-client.ts';
import { removeData, startSluice } from '../services/start-sluice.ts';

const spaces = 8;

t.test('kill -9 while spaces are dropped and made again', { timeout: 300_000 }, async (t) => {
  const first = await startSluice();
  const structure = (slug: string): string => structureOf('drops', slug, fieldsOf('n NUMBER unique'));
  const find = async (baseUrl: string, slug: string): Promise<{ id: string; n: number }[]> =>
    (await call({ baseUrl, token: first.token, path: `/drops/${slug}`, structure: structure(slug) })).body;
  const drop = async (baseUrl: string, slug: string): Promise<number> =>
    (
      await fetch(`${baseUrl}/_projects_/drops/spaces/${slug}`, {
        method: 'DELETE',
        headers: { authorization: `Bearer ${first.token}` },
      })
    ).status;
  /** Of each space: ids that an acknowledged drop took away, and those that were acknowledged since. */
  const gone = new Map<string, Set<string>>();
  const there = new Map<string, Set<string>>();
  const unsure = new Set<string>();
  let drops = 0;
  const worker = async (slug: string): Promise<void> => {
    const lost = new Set<string>();
    const kept = new Set<string>();
    gone.set(slug, lost);
    there.set(slug, kept);
    for (;;) {
      for (let n = 0; n < 5; n++) {
        const answer = await call({
          ...first,
          structure: structure(slug),
          path: `/drops/${slug}/_single_`,
          body: { n },
        });
        t.equal(answer.status, 200, 'a value of the dropped one is free');
        kept.add(answer.body.id);
      }
      unsure.add(slug);
      const status = await drop(first.baseUrl, slug);
      t.equal(status, 204);
      unsure.delete(slug);
      for (const id of kept) lost.add(id);
      kept.clear();
      drops++;
    }
  };
  const running = Promise.allSettled(Array.from({ length: spaces }, (_, i) => worker(`s${i}`)));
  while (drops < 12) await sleep(2);
  await first.kill();
  await running;
  t.comment(`${drops} drops, ${unsure.size} under way`);

  const again = await first.restart();
  t.teardown(async () => {
    await again.stop();
    await removeData(again);
  });
  for (const [slug, lost] of gone) {
    const ids = new Set((await find(again.baseUrl, slug)).map(({ id }) => id));
    for (const id of lost) t.notOk(ids.has(id), 'what was dropped stays away');
    const kept = there.get(slug) ?? new Set();
    // a drop that was not acknowledged was done, or was not
    const whole = [...kept].every((id) => ids.has(id));
    t.ok(
      whole || (unsure.has(slug) && ids.size === 0),
      `${slug}: all or nothing of ${kept.size}, ${ids.size} there`,
    );
    const status = await drop(again.baseUrl, slug);
    t.ok(status === 204 || status === 404);
    t.strictSame(await find(again.baseUrl, slug), []);
  }
});
