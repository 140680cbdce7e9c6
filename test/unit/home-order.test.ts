import t from 'tap';
import { HomeOrder } from '#engine/home-order.ts';

const servers = ['http://a:8123', 'http://b:8123', 'http://c:8123'].map((url) => ({ url }));
const keys = Array.from({ length: 3000 }, (_, i) => `records ${i}`);

t.test('every process finds the same order, whatever order its addresses stand in', async (t) => {
  const one = new HomeOrder(servers);
  const other = new HomeOrder([...servers].reverse());
  for (const key of keys) t.strictSame(one.of(key), other.of(key));
});

t.test('keys spread over the servers, and those of one that is gone over the others', async (t) => {
  const all = new HomeOrder(servers);
  const homes = new Map<string, number>();
  const seconds = new Map<string, number>();
  for (const key of keys) {
    const [home, second] = all.of(key) as [{ url: string }, { url: string }];
    homes.set(home.url, (homes.get(home.url) ?? 0) + 1);
    if (home === servers[0]) seconds.set(second.url, (seconds.get(second.url) ?? 0) + 1);
  }
  for (const count of homes.values()) t.ok(count > 850 && count < 1150, `${count} of 3000`);
  t.equal(homes.size, 3);
  for (const count of seconds.values()) t.ok(count > 380, `${count} of about 1000`);
  t.equal(seconds.size, 2);
  const fewer = new HomeOrder(servers.slice(1));
  for (const key of keys) {
    const rest = all.of(key).filter((server) => server !== servers[0]);
    t.strictSame(fewer.of(key), rest, 'nobody else moves');
  }
});
