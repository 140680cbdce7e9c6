import { randomUUID } from 'node:crypto';
import type { CloudFile } from '../../common/control/cloud-files.ts';

/** A file that nobody else has. */
export function newFile(change: Partial<CloudFile> = {}): CloudFile {
  const id = randomUUID();
  const name = `${id}_a.txt`;
  const ownerId = change.ownerId ?? randomUUID();
  return {
    id,
    name,
    originalName: 'a.txt',
    ownerId,
    projectSlug: 'demo',
    objectKey: `${ownerId}/demo/${name}`,
    contentType: 'text/plain',
    size: 1,
    crc32: 2,
    createdAt: new Date('2026-01-02T03:04:05.678Z'),
    updatedAt: new Date('2026-01-02T03:04:05.679Z'),
    ...change,
  };
}
