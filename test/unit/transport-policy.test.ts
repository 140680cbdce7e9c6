import { BlockList } from 'node:net';
import t from 'tap';
import { clientAddress, isSecure } from '#server/http/transport-policy.ts';

/** A request with this X-Forwarded-Proto. */
const says = (proto: string | undefined) => ({
  header: (name: string) => (name === 'x-forwarded-proto' ? proto : undefined),
});

const allowing = (args: Parameters<typeof isSecure>[1]) => (peer: string, request: ReturnType<typeof says>) =>
  isSecure({ ...request, peer }, args);

const proxies = new BlockList();
proxies.addSubnet('10.0.0.0', 8, 'ipv4');
proxies.addAddress('fd00::1', 'ipv6');

t.test('plain HTTP passes from this machine only', async (t) => {
  const allows = allowing({ tls: false, trustedProxies: undefined });
  for (const peer of [
    '127.0.0.1',
    '127.8.9.1',
    '::1',
    '0000:0000:0000:0000:0000:0000:0000:0001',
    '::ffff:127.0.0.1',
    '0000:0000:0000:0000:0000:ffff:7f00:0001',
  ]) {
    t.ok(allows(peer, says(undefined)), peer);
  }
  for (const peer of [
    '10.0.0.1',
    '128.0.0.1',
    '::2',
    '0000:0000:0000:0000:0000:ffff:0a00:0001',
    '',
    'localhost',
  ]) {
    t.notOk(allows(peer, says('https')), peer);
  }
});

t.test('a trusted proxy speaks for its clients, and nobody else does', async (t) => {
  const allows = allowing({ tls: false, trustedProxies: proxies });
  t.ok(allows('10.1.2.3', says('https')));
  t.ok(allows('::ffff:10.1.2.3', says(' HTTPS ')));
  t.ok(allows('fd00::1', says('https')));
  t.notOk(allows('10.1.2.3', says('http')));
  t.notOk(allows('10.1.2.3', says(undefined)));
  t.notOk(allows('11.1.2.3', says('https')));
  t.ok(allows('127.0.0.1', says(undefined)));
  t.notOk(allows('127.0.0.1', says('https')), 'a proxy on this machine is trusted by name as well');
});

t.test('with TLS of its own every connection passes', async (t) => {
  t.ok(allowing({ tls: true, trustedProxies: undefined })('11.1.2.3', says(undefined)));
});

t.test('the client is whom trusted proxies tell of', async (t) => {
  t.equal(clientAddress('192.0.2.1', '198.51.100.1', undefined), '192.0.2.1');
  t.equal(clientAddress('192.0.2.1', '198.51.100.1', proxies), '192.0.2.1', 'anybody can send the header');
  t.equal(clientAddress('10.0.0.1', undefined, proxies), '10.0.0.1');
  t.equal(clientAddress('10.0.0.1', '203.0.113.9, 198.51.100.1', proxies), '198.51.100.1');
  t.equal(clientAddress('10.0.0.1', '198.51.100.1, 10.0.0.2', proxies), '198.51.100.1');
  t.equal(clientAddress('10.0.0.1', '198.51.100.1, nonsense', proxies), '10.0.0.1');
  t.equal(clientAddress('0000:0000:0000:0000:0000:ffff:0a00:0001', '2001:db8::1', proxies), '2001:db8::1');
});
