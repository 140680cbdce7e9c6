import { once } from 'node:events';
import { get, type IncomingMessage } from 'node:http';
import { crc32 } from 'node:zlib';
import type { Target } from '../load/send-upload.ts';
import { refusals } from './stored-in-sink.ts';
import type { Subject } from './subject.ts';

/** Compares answers with a download of each file. For the file system store, which has no sink. */
export function storedOnDisk(target: Target): Subject['problems'] {
  return async (uploads) => {
    const problems = refusals(uploads);
    for (const upload of uploads) {
      if (upload.name === null) continue;
      const found = await download(target, upload.name);
      if (found.size !== upload.size || found.crc32 !== upload.crc32) {
        problems.push(`${upload.name} downloads with other bytes than were sent`);
      }
    }
    return problems;
  };
}

async function download({ baseUrl, path, token }: Target, name: string) {
  const address = `${baseUrl}${path.replace(/upload$/, encodeURIComponent(name))}`;
  const request = get(address, { headers: { authorization: `Bearer ${token}` } });
  const [response] = (await once(request, 'response')) as [IncomingMessage];
  let size = 0;
  let checksum = 0;
  for await (const chunk of response as AsyncIterable<Buffer>) {
    size += chunk.length;
    checksum = crc32(chunk, checksum);
  }
  return { size, crc32: checksum };
}
