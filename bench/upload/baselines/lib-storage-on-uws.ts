import type * as Uws from 'uWebSockets.js';
import { randomUUID } from 'node:crypto';
import { S3Client } from '@aws-sdk/client-s3';
import { Upload } from '@aws-sdk/lib-storage';
import { Busboy } from '@fastify/busboy';
import { loadUws } from '#server/http/uws.ts';
import { readSinkSettings } from './sink-settings.ts';

/** The usual way with uWebSockets.js as its HTTP server: what only the server is worth. */
const { bucket, clientConfig } = readSinkSettings();
const client = new S3Client(clientConfig);

const app = loadUws().App();
app.post('/*', (res, req) => {
  const contentType = req.getHeader('content-type');
  let aborted = false;
  let paused = false;
  const busboy = new Busboy({ headers: { 'content-type': contentType } });
  res.onAborted(() => {
    aborted = true;
    busboy.destroy(new Error('the client has gone away'));
  });
  res.onData((chunk, isLast) => {
    // the memory is invalid after this call
    const taken = busboy.write(Buffer.from(chunk.slice(0)));
    if (isLast) busboy.end();
    // already buffered chunks still arrive after a pause
    else if (!taken && !paused) {
      paused = true;
      res.pause();
      busboy.once('drain', () => {
        paused = false;
        if (!aborted) res.resume();
      });
    }
  });
  store(busboy).then(
    (name) => answer(res, aborted, '200 OK', { name }),
    (error: unknown) => answer(res, aborted, '500 Internal Server Error', { error: String(error) }),
  );
});

function store(busboy: InstanceType<typeof Busboy>): Promise<string> {
  return new Promise((resolve, reject) => {
    let stored: Promise<string> | null = null;
    busboy.on('file', (_field, file, fileName) => {
      const name = `${randomUUID()}_${fileName}`;
      const upload = new Upload({ client, params: { Bucket: bucket, Key: `uws/${name}`, Body: file } });
      stored = upload.done().then(() => name);
      stored.catch(reject);
    });
    busboy.on('finish', () => {
      if (stored === null) reject(new Error('no file'));
      else stored.then(resolve, reject);
    });
    busboy.on('error', reject);
  });
}

function answer(res: Uws.HttpResponse, aborted: boolean, status: string, body: object): void {
  if (aborted) return;
  res.cork(() => {
    res.writeStatus(status).writeHeader('content-type', 'application/json').end(JSON.stringify(body));
  });
}

process.once('disconnect', () => process.exit());
app.listen('127.0.0.1', 0, (socket) => {
  if (socket === false) throw new Error('no port of 127.0.0.1 can be listened on');
  process.stdout.write(`baseline listens on http://127.0.0.1:${loadUws().us_socket_local_port(socket)}\n`);
});
