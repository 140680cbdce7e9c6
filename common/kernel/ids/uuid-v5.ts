import { createHash } from 'node:crypto';

/** The namespace of this service's name-based ids. It must never change, because the ids are stored. */
const namespace = '8a3f7c52-6d1e-4b90-9c47-2e5b10d7f6a4';

/**
 * The id of what these parts identify together, such as owner, project slug and space slug: the same in every process.
 * Different lists of parts get different ids, even if they join to the same text.
 */
export function uuidV5(...parts: string[]): string {
  return nameBasedUuid(namespace, JSON.stringify(parts));
}

/** RFC 9562 section 5.5: a UUID from the SHA-1 of a namespace and a name. @param namespaceId UUID text */
export function nameBasedUuid(namespaceId: string, name: string): string {
  const bytes = createHash('sha1')
    .update(Buffer.from(namespaceId.replaceAll('-', ''), 'hex'))
    .update(name, 'utf8')
    .digest()
    .subarray(0, 16);
  bytes[6] = ((bytes[6] as number) & 0x0f) | 0x50;
  bytes[8] = ((bytes[8] as number) & 0x3f) | 0x80;
  const hex = bytes.toString('hex');
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-${hex.slice(12, 16)}-${hex.slice(16, 20)}-${hex.slice(20)}`;
}
