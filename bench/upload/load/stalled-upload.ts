import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { crc32 } from 'node:zlib';
import { mebibyte } from '../harness/bytes.ts';
import type { Subject } from '../subject/subject.ts';
import { fileCrc32, fileSlices } from './file-bytes.ts';

const size = 4 * mebibyte;
const tus = { 'tus-resumable': '1.0.0' };

type Target = Subject['target'];

const authorized = ({ token }: Target) => ({ ...tus, authorization: `Bearer ${token}` });

/** Sends some of a tus upload of 4 MiB, and then nothing. */
export async function stall(target: Target, seed: number): Promise<{ path: string; socket: Socket }> {
  const headers = { ...authorized(target), 'upload-length': String(size) };
  const begun = await fetch(`${target.baseUrl}/_f_/bench/resumable`, { method: 'POST', headers });
  const { pathname: path } = new URL(begun.headers.get('location') ?? '', target.baseUrl);
  await begun.text();
  const { hostname, port, host } = new URL(target.baseUrl);
  const socket = connect(Number(port), hostname);
  socket.on('error', () => {});
  await once(socket, 'connect');
  const lines = [
    `PATCH ${path} HTTP/1.1`,
    `Host: ${host}`,
    ...Object.entries(authorized(target)).map(([name, value]) => `${name}: ${value}`),
    'Upload-Offset: 0',
    'Content-Type: application/offset+octet-stream',
    `Content-Length: ${size}`,
  ];
  socket.write(`${lines.join('\r\n')}\r\n\r\n`);
  const end = 1 + ((seed * 1_103_515_245 + 12_345) % (size - 1));
  // one that the server makes wait is stalled as well
  const late = sleep(20_000, undefined, { ref: false });
  for (const slice of fileSlices(seed, end)) {
    if (socket.destroyed) break;
    if (!socket.write(slice))
      await Promise.race([once(socket, 'drain').catch(() => {}), once(socket, 'close'), late]);
  }
  return { path, socket };
}

/** Where the upload is, as another connection is told, perhaps at another gateway. */
export async function offsetOf(target: Target, path: string): Promise<number> {
  const answer = await fetch(target.baseUrl + path, { method: 'HEAD', headers: authorized(target) });
  return Number(answer.headers.get('upload-offset'));
}

/** Sends the rest. @returns whether the file arrived whole */
export async function endsWell(target: Target, path: string, seed: number, offset: number): Promise<boolean> {
  const headers = {
    ...authorized(target),
    'upload-offset': String(offset),
    'content-type': 'application/offset+octet-stream',
  };
  const body = Buffer.concat([...fileSlices(seed, size, offset)]);
  const answer = await fetch(target.baseUrl + path, { method: 'PATCH', headers, body });
  if (answer.status !== 200) return false;
  const { s3Link } = (await answer.json()) as { s3Link: string };
  const bytes = await (await fetch(target.baseUrl + new URL(s3Link).pathname)).arrayBuffer();
  return crc32(Buffer.from(bytes)) === fileCrc32(seed, size);
}
