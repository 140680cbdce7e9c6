import type { ObjectDescription } from '../object-store.ts';

/**
 * S3 sends metadata as headers, and servers treat non-ASCII text differently. Such values are encoded as in RFC 8187
 * section 3.2.1; plain values stay readable.
 */
const marker = "utf-8''";
const plain = /^[\x21-\x7e](?:[\x20-\x7e]*[\x21-\x7e])?$/;
const prefix = 'x-amz-meta-';
const namePattern = /^[a-z0-9-]+$/;

/** Our own entry: the id of the object's writer. */
const writerName = 'sluice-writer';
/** Our own entry: the object's type, if the store serves it under another. */
const typeName = 'sluice-content-type';
const ourNames = new Set([writerName, typeName]);

/** Metadata to store, with the writer's id and the object's own type. Names are lower case, as S3 returns them. */
export function storedMetadata(
  { contentType, metadata, served }: ObjectDescription,
  writerId?: string,
): Record<string, string> {
  const stored: Record<string, string> = {};
  if (writerId !== undefined) stored[writerName] = writerId;
  if (served !== undefined && served.contentType !== contentType) stored[typeName] = contentType;
  for (const [name, value] of Object.entries(metadata)) {
    if (!namePattern.test(name) || ourNames.has(name)) throw new Error(`bad metadata name ${name}`);
    stored[name] =
      (plain.test(value) || value === '') && !value.startsWith(marker)
        ? value
        : marker + encodeURIComponent(value);
  }
  return stored;
}

/** Metadata in the headers of an answer, without the prefix. */
export function metadataIn(headers: ReadonlyMap<string, string>): Record<string, string> {
  const found: Record<string, string> = {};
  for (const [name, value] of headers) if (name.startsWith(prefix)) found[name.slice(prefix.length)] = value;
  return found;
}

/** The headers of an object to store. */
export function storedHeaders({
  contentType,
  contentDisposition,
  metadata,
}: {
  readonly contentType: string;
  readonly contentDisposition: string | undefined;
  readonly metadata: Readonly<Record<string, string>>;
}): Record<string, string> {
  const headers: Record<string, string> = { 'content-type': contentType };
  if (contentDisposition !== undefined) headers['content-disposition'] = contentDisposition;
  for (const [name, value] of Object.entries(metadata)) headers[prefix + name] = value;
  return headers;
}

/** The metadata without our own entries: what the object's creator passed. */
export function callerMetadata(stored: Readonly<Record<string, string>>): Record<string, string> {
  const given: Record<string, string> = {};
  for (const [name, value] of Object.entries(stored)) {
    if (!ourNames.has(name)) given[name] = value.startsWith(marker) ? decodeValue(value) : value;
  }
  return given;
}

/** The type that the creator passed, if the store serves the object under another. */
export function callerType(stored: Readonly<Record<string, string>>): string | undefined {
  return stored[typeName];
}

export function writerIdOf(stored: Readonly<Record<string, string>>): string | undefined {
  return stored[writerName];
}

function decodeValue(value: string): string {
  try {
    return decodeURIComponent(value.slice(marker.length));
  } catch {
    // not written by us
    return value;
  }
}
