/** Who gives up a live query where a limit is reached. */
import t from 'tap';
import { type Holder, StreamPlaces } from '#query/live/stream-places.ts';

/** Places of streams with names, in their order. */
function placesOf(limits: { readonly process: number; readonly token: number }) {
  const places = new StreamPlaces(limits);
  const open = new Map<string, () => void>();
  const ended: string[] = [];
  return {
    places,
    open,
    ended,
    /** @returns what ended for it; null: it was refused */
    take(name: string, holder: Holder): readonly string[] | null {
      const before = ended.length;
      const stream = {
        end(reason: string): void {
          if (reason !== 'too_many_streams') throw new Error(reason);
          open.delete(name);
          ended.push(name);
        },
      };
      try {
        open.set(name, places.take(holder, stream));
      } catch (error) {
        if ((error as { code?: unknown }).code !== 'too_many_streams') throw error;
        return null;
      }
      return ended.slice(before);
    },
  };
}

t.test('a token that is full: the oldest of whoever has two more than the newcomer', async (t) => {
  const { places, take, open } = placesOf({ process: 100, token: 4 });
  for (const name of ['a1', 'a2', 'a3', 'a4']) t.strictSame(take(name, ['x', 'page', 'a']), []);
  t.equal(take('a5', ['x', 'page', 'a']), null, 'not for himself');
  t.strictSame(take('other', ['x', 'server', '']), [], 'another token is not full');
  t.strictSame(take('b1', ['x', 'page', 'b']), ['a1']);
  t.strictSame(take('b2', ['x', 'page', 'b']), ['a2']);
  t.equal(take('b3', ['x', 'page', 'b']), null, 'equal shares');
  t.strictSame(take('c1', ['x', 'page', 'c']), ['a3']);
  t.strictSame(take('d1', ['x', 'page', 'd']), ['b1']);
  t.equal(take('e1', ['x', 'page', 'e']), null, 'nobody has two');
  t.equal(places.count, 5);
  open.get('c1')?.();
  open.get('c1')?.();
  t.equal(places.count, 4, 'a place is given back once');
  t.strictSame(take('e1', ['x', 'page', 'e']), []);
});

t.test('a process that is full: between accounts, tokens and senders', async (t) => {
  const { places, take } = placesOf({ process: 6, token: 4 });
  // an account with many tokens
  for (const name of ['1', '2', '3', '4']) take(name, ['x', 'page', 'a']);
  for (const name of ['5', '6']) take(name, ['x', 'page two', name]);
  t.strictSame(take('y1', ['y', 'page', 'a']), ['1'], 'of the largest token of the largest account');
  t.equal(take('7', ['x', 'page two', '7']), null, 'its tokens have 3 and 2');
  t.strictSame(take('8', ['x', 'page three', 'c']), ['2']);
  t.strictSame(take('y2', ['y', 'page', 'a']), ['3']);
  t.strictSame(take('y3', ['y', 'page', 'a']), ['5']);
  t.strictSame(take('y4', ['y', 'page', 'b']), ['y1'], 'accounts have three each, and its senders 3 and 0');
  t.equal(places.count, 6);
});

t.test('at any sequence limits hold, and who has least gets in', async (t) => {
  const limits = { process: 12, token: 4 };
  const { places, take, open } = placesOf(limits);
  let seed = 1;
  const random = (below: number): number => {
    seed = (seed * 48_271) % 2_147_483_647;
    return seed % below;
  };
  const holders = new Map<string, string>();
  const held = (prefix: string) => [...open.keys()].filter((name) => holders.get(name)?.startsWith(prefix));
  let fullTokens = 0;
  for (let at = 0; at < 3000; at++) {
    const [account, token, sender] = [`x${random(2)}`, `t${random(2)}`, `s${random(4)}`];
    const ofToken = `${account} ${token} `;
    holders.set(`${at}`, ofToken + sender);
    const before = held(ofToken).length;
    const others = [0, 1, 2, 3].map((n) => held(`${ofToken}s${n}`).length);
    const own = held(ofToken + sender).length;
    const ended = take(`${at}`, [account, token, sender]);
    if (before === limits.token) fullTokens++;
    if (before === limits.token && (ended === null) !== Math.max(...others) < own + 2)
      t.fail(`${at}: ${others} and ${own}`);
    if (open.size > limits.process || places.count !== open.size) t.fail(`${open.size} are open`);
    if (held(ofToken).length > limits.token) t.fail(`${ofToken} has too many`);
    const leaving = [...open.keys()][random(30)];
    if (leaving === undefined) continue;
    open.get(leaving)?.();
    open.delete(leaving);
  }
  t.ok(fullTokens > 300, `${fullTokens} times a token was full`);
  for (const leave of open.values()) leave();
  t.equal(places.count, 0);
});
