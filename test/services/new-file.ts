import { randomUUID } from 'node:crypto';
import type { CloudFile } from '#gateway/catalogue/cloud-file.ts';

/** What keys of files begin with. */
export const testDeployment = '3b1f8d52-77aa-4c0e-9a41-5d0c2e6f7a80';

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
    objectKey: `${testDeployment}/${ownerId}/demo/${name}`,
    contentType: 'text/plain',
    size: 1,
    crc32: 2,
    createdAt: new Date('2026-01-02T03:04:05.678Z'),
    updatedAt: new Date('2026-01-02T03:04:05.679Z'),
    ...change,
  };
}
