import t from 'tap';
import { Freshness } from '#coordination/redis/freshness.ts';
import { type Invalidation, unannounced } from '#coordination/redis/invalidation.ts';
import { LocalInvalidation } from '../services/local-invalidation.ts';

/** A clock that stands still until it is set. */
function clocked(invalidation: Invalidation = unannounced) {
  const clock = { time: 0 };
  const times = { announcedFor: 100, otherwiseFor: 10 };
  return { clock, freshness: new Freshness({ invalidation, ...times, now: () => clock.time }) };
}

t.test('without announcements data counts for its short time', async (t) => {
  const { clock, freshness } = clocked();
  const read = freshness.begin();
  clock.time = 10;
  t.ok(freshness.isFresh('a', read));
  clock.time = 11;
  t.notOk(freshness.isFresh('a', read));
  t.ok(freshness.isFresh('a', read, 11), 'a time of its own');
});

t.test('with announcements it counts for the long one, until it changes', async (t) => {
  const invalidation = new LocalInvalidation();
  const { clock, freshness } = clocked(invalidation);
  const read = freshness.begin();
  clock.time = 100;
  t.ok(freshness.isFresh('a', read));
  await invalidation.publish('b');
  t.ok(freshness.isFresh('a', read));
  await invalidation.publish('a');
  t.notOk(freshness.isFresh('a', read));
  const again = freshness.begin();
  t.ok(freshness.isFresh('a', again));
  clock.time = 201;
  t.notOk(freshness.isFresh('a', again));
});

t.test('while announcements may be missed, the short time counts', async (t) => {
  const invalidation = new LocalInvalidation();
  const { clock, freshness } = clocked(invalidation);
  const read = freshness.begin();
  invalidation.isCurrent = () => false;
  clock.time = 10;
  t.ok(freshness.isFresh('a', read));
  clock.time = 11;
  t.notOk(freshness.isFresh('a', read));
});

t.test('what was read while this process changed something is not kept', async (t) => {
  const { freshness } = clocked();
  const read = freshness.begin();
  t.ok(freshness.mayKeep(read));
  t.ok(await freshness.changed('b'));
  t.notOk(freshness.mayKeep(read));
  t.ok(freshness.mayKeep(freshness.begin()));
  const away = new LocalInvalidation();
  away.away = true;
  t.notOk(await clocked(away).freshness.changed('a'), 'others could not be reached');
});
