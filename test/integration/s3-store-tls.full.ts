import { readFile } from 'node:fs/promises';
import { type AddressInfo, connect } from 'node:net';
import { createServer, type TLSSocket } from 'node:tls';
import t, { type Test } from 'tap';
import { certificateFor } from '../services/certificate.ts';
import { storeObject } from '../services/store-object.ts';
import { openStubStore, stubPartBytes } from '../services/stub-store.ts';
import { objectStoreContract, patternBytes } from './object-store-contract.ts';

const { certFile, keyFile } = await certificateFor(t);
const [cert, key] = await Promise.all([readFile(certFile), readFile(keyFile)]);

/** Speaks TLS before the stub. Answers its address. */
async function startTls(t: Test, port: number): Promise<string> {
  const open = new Set<TLSSocket>();
  const server = createServer({ cert, key }, (client) => {
    open.add(client);
    const target = connect(port, '127.0.0.1');
    client.pipe(target).pipe(client);
    client.on('error', () => target.destroy());
    target.on('error', () => client.destroy());
    target.once('close', () => client.destroy());
    client.once('close', () => {
      open.delete(client);
      target.destroy();
    });
  });
  server.listen(0, '127.0.0.1');
  await new Promise((resolve) => server.once('listening', resolve));
  t.teardown(() => {
    server.close();
    for (const client of open) client.destroy();
  });
  return `https://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

t.test('a server whose certificate is not trusted is refused at once', async (t) => {
  const { stub } = await openStubStore(t);
  const { store, log } = await openStubStore(t, { endpoint: await startTls(t, stub.port) });
  for (const size of [10, stubPartBytes + 10]) {
    await t.rejects(storeObject(store, 'o/p/n', patternBytes(size)), { message: /self.signed certificate/ });
  }
  t.strictSame(stub.counts(), {});
  t.strictSame(log.failures, []);
});

t.test('contract over TLS', async (t) => {
  // what NODE_EXTRA_CA_CERTS does for a process at its start
  process.env.NODE_TLS_REJECT_UNAUTHORIZED = '0';
  t.teardown(() => delete process.env.NODE_TLS_REJECT_UNAUTHORIZED);
  const { stub } = await openStubStore(t);
  const { store, log } = await openStubStore(t, { endpoint: await startTls(t, stub.port) });
  await objectStoreContract(t, async () => store);
  t.strictSame(stub.openUploads(), []);
  t.strictSame(log.failures, []);
  t.ok(stub.requests.length > 50);
});
