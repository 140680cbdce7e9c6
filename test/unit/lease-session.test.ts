/** A write of unique values begins only when it ends within its lease, by whatever clock. */
import t from 'tap';
import type { RedisConnection, RedisScript } from '#coordination/redis/redis-connection.ts';
import { LeaseSession, type LeaseTimes } from '#records/unique/lease-sessions.ts';
import { RedisReservations } from '#records/unique/redis-reservations.ts';
import { openScript, reserveScript } from '#records/unique/reservation-store.ts';
import { silentLog } from '../services/silent-log.ts';

const times: LeaseTimes = { lease: 1000, margin: 100, writeTime: 300, renewEvery: 30_000 };

t.test('a session covers a write that ends before the lease, less the margin', async (t) => {
  let now = { monotonic: 0, wall: 0 };
  const after = (monotonic: number, wall = monotonic): boolean => {
    now = { monotonic, wall };
    return session.coversWrite();
  };
  const session = new LeaseSession(times, () => now);
  t.ok(after(600));
  t.notOk(after(601));
  t.notOk(after(0, 601), 'a machine that was paused sees it by the other clock');
  session.sent = { monotonic: 500, wall: 500 };
  t.ok(after(1100));
  t.notOk(after(1101));
  session.lost = true;
  t.notOk(after(500), 'Redis does not know it any more');
});

/** Redis gives all that is asked for. */
async function permitWith(leaseTimes: LeaseTimes) {
  const answers = new Map<RedisScript, unknown>([
    [openScript, [0, 'epoch']],
    [reserveScript, [['taken']]],
  ]);
  const redis = {
    run: async (script: RedisScript) => answers.get(script) ?? [],
    onConnected() {},
  } as unknown as RedisConnection;
  const reservations = new RedisReservations({
    redis,
    log: silentLog(),
    times: leaseTimes,
    everUsed: async () => false,
  });
  const result = await reservations.reserve(['key'], new AbortController().signal);
  if ('takenKey' in result) throw new Error('taken');
  return result.reservation;
}

t.test('a reservation whose lease may end before the write permits none', async (t) => {
  const long = await permitWith({ ...times, lease: 3_600_000 });
  long.permit?.check();
  t.equal(long.permit?.timeLimit, times.writeTime);
  const short = await permitWith({ ...times, lease: times.writeTime });
  t.throws(() => short.permit?.check(), { status: 503, code: 'unavailable' });
  await Promise.all([long, short].map((reservation) => reservation.settle([])));
});
