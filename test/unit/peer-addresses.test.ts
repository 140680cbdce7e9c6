import type * as Uws from 'uWebSockets.js';
import t from 'tap';
import { PeerAddresses } from '#server/http/peer-addresses.ts';

/** The native side of a connection, which counts how often it is asked. */
function connection(text: string) {
  const bytes = text.includes(':') ? new Uint8Array(16) : Uint8Array.from(text.split('.').map(Number));
  const asked = { times: 0 };
  const answer = (memory: Uint8Array): ArrayBuffer => {
    asked.times++;
    return Uint8Array.from(memory).buffer;
  };
  const res = {
    getRemoteAddress: () => answer(bytes),
    getRemoteAddressAsText: () => answer(Buffer.from(text)),
  } as unknown as Uws.HttpResponse;
  return { res, asked };
}

t.test('while all connections come from one address none is read again', async (t) => {
  const peers = new PeerAddresses();
  const [one, other] = [connection('10.0.0.1'), connection('10.0.0.1')];
  peers.connected(one.res);
  peers.connected(other.res);
  const before = other.asked.times;
  t.equal(peers.of(other.res), '10.0.0.1');
  t.equal(other.asked.times, before);
});

t.test('once they differ each has its own, for ever', async (t) => {
  const peers = new PeerAddresses();
  const all = ['127.0.0.1', '192.0.2.200', '255.255.255.255', '127.0.0.1', '2001:db8::1'].map(connection);
  for (const { res } of all) peers.connected(res);
  const read = () => all.map(({ res }) => peers.of(res));
  const texts = ['127.0.0.1', '192.0.2.200', '255.255.255.255', '127.0.0.1', '2001:db8::1'];
  t.strictSame(read(), texts);
  t.strictSame(read(), texts, 'also when they were seen before');
  peers.connected(connection('127.0.0.1').res);
  t.strictSame(read(), texts);
});

t.test('a connection whose address is not known is another one', async (t) => {
  const peers = new PeerAddresses();
  const [known, gone] = [connection('127.0.0.1'), connection('')];
  peers.connected(known.res);
  peers.connected(gone.res);
  t.equal(peers.of(gone.res), '');
  t.equal(peers.of(known.res), '127.0.0.1');
});
