import { readFile, writeFile } from 'node:fs/promises';
import { request } from 'node:https';
import { join } from 'node:path';
import t from 'tap';
import { payloadTooLarge } from '#kernel/errors/catalogue.ts';
import { makeCertificate } from '../services/certificate.ts';
import { countRoute, serveRoutes } from '../services/serve-routes.ts';
import { temporaryFolder } from '../services/temporary-folder.ts';

const folder = await temporaryFolder(t);
const { certFile, keyFile } = await makeCertificate(folder);

t.test('serves HTTPS, both ways, and a refusal that can be read', async (t) => {
  const { server } = await serveRoutes(
    t,
    [
      countRoute,
      {
        method: 'POST',
        path: '/refuse',
        transfersBytes: true,
        handler: () => {
          throw payloadTooLarge(1, 'File');
        },
      },
    ],
    { tls: { certFile, keyFile } },
  );
  const ca = await readFile(certFile);
  const post = (path: string, size: number) =>
    new Promise<[number | undefined, string]>((resolve, reject) => {
      const outgoing = request(
        { port: server.port, host: '127.0.0.1', ca, path, method: 'POST' },
        (answer) => {
          let text = '';
          answer.on('data', (chunk: Buffer) => {
            text += chunk.toString();
          });
          answer.on('end', () => resolve([answer.statusCode, text]));
        },
      );
      outgoing.on('error', reject);
      outgoing.end(Buffer.alloc(size));
    });
  t.strictSame(await post('/count', 20_000_000), [200, 'size=20000000']);
  const [status, text] = await post('/refuse', 20_000_000);
  t.equal(status, 413);
  t.match(JSON.parse(text), { code: 'payload_too_large' });
});

t.test('files that are no certificate and key are refused with one sentence', async (t) => {
  await writeFile(join(folder, 'nonsense.pem'), 'nonsense');
  const start = serveRoutes(t, [], { tls: { certFile: join(folder, 'nonsense.pem'), keyFile } });
  await t.rejects(start, { message: /TLS_CERT_FILE and TLS_KEY_FILE/ });
});
