import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { crc32 } from 'node:zlib';
import { slicesOf } from '#load/seed/bytes.ts';
import { beginUpload, fileOf, sendRest } from '../../../test/services/tus-client.ts';
import { mebibyte } from '../harness/bytes.ts';
import type { Subject } from '../subject/subject.ts';
import { benchSeed, fileCrc32 } from './send-upload.ts';

const size = 4 * mebibyte;

type Target = Subject['target'];

/** Sends a part of a tus upload of 4 MiB, and then stalls. */
export async function stall(target: Target, index: number): Promise<{ path: string; socket: Socket }> {
  const path = await beginUpload(target, size);
  const { hostname, port, host } = new URL(target.baseUrl);
  const socket = connect(Number(port), hostname);
  socket.on('error', () => {});
  await once(socket, 'connect');
  const lines = [
    `PATCH ${path} HTTP/1.1`,
    `Host: ${host}`,
    'Tus-Resumable: 1.0.0',
    `Authorization: Bearer ${target.token}`,
    'Upload-Offset: 0',
    'Content-Type: application/offset+octet-stream',
    `Content-Length: ${size}`,
  ];
  socket.write(`${lines.join('\r\n')}\r\n\r\n`);
  const end = 1 + ((index * 1_103_515_245 + 12_345) % (size - 1));
  // an upload that the server pauses is stalled as well
  const late = sleep(20_000, undefined, { ref: false });
  for (const slice of slicesOf(benchSeed, index, 0, end)) {
    if (socket.destroyed) break;
    if (!socket.write(slice))
      await Promise.race([once(socket, 'drain').catch(() => {}), once(socket, 'close'), late]);
  }
  return { path, socket };
}

/** Sends the rest. @returns whether the file is complete */
export async function endsWell(
  target: Target,
  path: string,
  index: number,
  offset: number,
): Promise<boolean> {
  const bytes = Buffer.concat([...slicesOf(benchSeed, index, 0, size)]);
  if ((await sendRest(target, path, bytes, { from: offset, chunk: size })) !== 204) return false;
  const { s3Link } = await fileOf(target, path);
  const stored = await (await fetch(target.baseUrl + new URL(s3Link).pathname)).arrayBuffer();
  return crc32(Buffer.from(stored)) === fileCrc32(index, size);
}
