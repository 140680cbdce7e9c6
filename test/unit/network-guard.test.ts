import { BlockList } from 'node:net';
import t from 'tap';
import { type Address, createFindAddress } from '#kernel/http-client/network-guard.ts';

const address = (text: string): Address => ({ address: text, family: text.includes(':') ? 6 : 4 });
const resolving =
  (...texts: string[]) =>
  async () =>
    texts.map(address);

t.test('addresses that only this machine and its neighbours reach are refused', async (t) => {
  for (const host of [
    ...['127.0.0.1', '127.9.9.9', '0.0.0.0', '10.1.2.3', '172.16.0.1', '172.31.255.255', '192.168.1.1'],
    ...['169.254.169.254', '100.64.0.1', '224.0.0.1', '255.255.255.255', '198.18.0.1', '192.0.0.1'],
    ...['[::1]', '[::]', '[fe80::1]', '[fc00::1]', '[fd12::1]', '[ff02::1]', '[::ffff:127.0.0.1]'],
    ...['[::ffff:10.0.0.1]', '[64:ff9b::7f00:1]', '[2002:7f00:1::]', '[2001:0:1::]'],
  ]) {
    await t.rejects(createFindAddress(undefined)(host), { message: /private network/ }, host);
  }
});

t.test('others are answered', async (t) => {
  for (const host of ['93.184.216.34', '172.32.0.1', '[2606:4700::1111]', '100.128.0.1']) {
    t.equal((await createFindAddress(undefined)(host)).address, host.replace(/[[\]]/g, ''));
  }
});

t.test('a name is as closed as any of its addresses, and is looked up each time', async (t) => {
  await t.rejects(createFindAddress(undefined, resolving('93.184.216.34', '127.0.0.1'))('both.example'));
  await t.rejects(createFindAddress(undefined, resolving())('none.example'));
  let looks = 0;
  const rebinding = async () => [address(looks++ === 0 ? '93.184.216.34' : '127.0.0.1')];
  const find = createFindAddress(undefined, rebinding);
  t.equal((await find('rebinds.example')).address, '93.184.216.34');
  await t.rejects(find('rebinds.example'));
});

t.test('what is allowed is open', async (t) => {
  const allowed = new BlockList();
  allowed.addSubnet('10.0.0.0', 8, 'ipv4');
  const find = createFindAddress(allowed);
  t.equal((await find('10.1.1.1')).address, '10.1.1.1');
  await t.rejects(find('192.168.1.1'));
});
