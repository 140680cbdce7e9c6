import { randomUUID } from 'node:crypto';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { S3Client } from '@aws-sdk/client-s3';
import { Upload } from '@aws-sdk/lib-storage';
import { Busboy } from '@fastify/busboy';
import { readSinkSettings } from './sink-settings.ts';

/**
 * The usual way to put an upload into S3 from Node: node:http, @fastify/busboy and @aws-sdk/lib-storage with their
 * defaults. No token, no limit, no row.
 */
const { bucket, clientConfig } = readSinkSettings();
const client = new S3Client(clientConfig);

const server = createServer((request, response) => {
  store(request).then(
    (name) => answer(response, 200, { name }),
    (error: unknown) => answer(response, 500, { error: String(error) }),
  );
});

function store(request: IncomingMessage): Promise<string> {
  return new Promise((resolve, reject) => {
    const type = request.headers['content-type'] ?? '';
    const busboy = new Busboy({ headers: { ...request.headers, 'content-type': type } });
    let stored: Promise<string> | null = null;
    busboy.on('file', (_field, file, fileName) => {
      const name = `${randomUUID()}_${fileName}`;
      const upload = new Upload({ client, params: { Bucket: bucket, Key: `usual-way/${name}`, Body: file } });
      stored = upload.done().then(() => name);
      stored.catch(reject);
    });
    busboy.on('finish', () => {
      if (stored === null) reject(new Error('no file'));
      else stored.then(resolve, reject);
    });
    busboy.on('error', reject);
    request.pipe(busboy);
  });
}

function answer(response: ServerResponse, status: number, body: object): void {
  const text = JSON.stringify(body);
  response.writeHead(status, {
    'content-type': 'application/json',
    'content-length': Buffer.byteLength(text),
  });
  response.end(text);
}

process.once('disconnect', () => process.exit());
server.listen(0, '127.0.0.1', () => {
  process.stdout.write(`baseline listens on http://127.0.0.1:${(server.address() as AddressInfo).port}\n`);
});
