import type { ObjectDescription } from './bucket-state.ts';
import type { S3Call } from './operation.ts';
import { s3Error } from './s3-error.ts';

const prefix = 'x-amz-meta-';
const keptHeaders = [
  'cache-control',
  'content-disposition',
  'content-encoding',
  'content-language',
  'expires',
];
/** "User-defined metadata is limited to 2 KB": https://docs.aws.amazon.com/AmazonS3/latest/userguide/UsingMetadata.html */
const maxMetadataBytes = 2048;

export function readDescription(call: S3Call): ObjectDescription {
  const headers: Record<string, string> = {
    'content-type': call.header('content-type') ?? 'binary/octet-stream',
  };
  for (const name of keptHeaders) {
    const value = call.header(name);
    if (value !== undefined) headers[name] = value;
  }
  const metadata: Record<string, string> = {};
  let bytes = 0;
  for (const name of call.headerNames) {
    if (!name.startsWith(prefix)) continue;
    const value = call.header(name) ?? '';
    metadata[name.slice(prefix.length)] = value;
    bytes += name.length - prefix.length + value.length;
  }
  if (bytes > maxMetadataBytes) {
    throw s3Error('MetadataTooLarge', 'Your metadata headers exceed the maximum allowed metadata size');
  }
  return { headers, metadata };
}

export function metadataHeaders({ headers, metadata }: ObjectDescription): Record<string, string> {
  const all: Record<string, string> = { ...headers };
  for (const [name, value] of Object.entries(metadata)) all[prefix + name] = value;
  return all;
}
