import { type Exchange, fieldOf } from './exchange.ts';
import type { SeedFile } from './file-session.ts';
import { Refusal } from './refusal.ts';

interface Part {
  readonly number: number;
  readonly offset: number;
  readonly size: number;
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
}

interface Plan {
  readonly location: string;
  readonly partCount: number;
  readonly parts: readonly Part[];
}

/** Addresses that one answer may have. */
const mostAddresses = 100;

/** Sends the bytes to the bucket, or to where else the server says. @returns the server's name for the file */
export async function uploadDirect(exchange: Exchange, file: SeedFile): Promise<string> {
  const plan = await exchange.ask<Plan>(201, `POST ${exchange.path('direct')}`, {
    name: file.name,
    size: file.bytes,
    contentType: 'application/octet-stream',
  });
  const { location, partCount } = plan;
  const sent: { readonly number: number; readonly etag: string }[] = [];
  for (let { parts } = plan; ; ) {
    for (const part of parts) sent.push({ number: part.number, etag: await sendPart(exchange, file, part) });
    if (sent.length >= partCount || parts.length === 0) break;
    const last = Math.min(sent.length + mostAddresses, partCount);
    ({ parts } = await exchange.ask<Plan>(200, `GET ${location}?parts=${sent.length + 1}-${last}`));
  }
  return (await exchange.ask<{ name: string }>(200, `POST ${location}/complete`, { parts: sent })).name;
}

/** @returns the ETag */
async function sendPart(exchange: Exchange, file: SeedFile, part: Part): Promise<string> {
  const { origin, pathname, search } = new URL(part.url);
  const fields = Object.entries(part.headers)
    // the length is ours to say
    .filter(([name]) => name.toLowerCase() !== 'content-length')
    .map(([name, value]) => `${name}: ${value}\r\n`);
  const answer = await exchange.expect(200, {
    request: `PUT ${pathname}${search}`,
    origin,
    fields: fields.join(''),
    body: exchange.slices(file, part.offset, part.offset + part.size),
    bytes: part.size,
  });
  const etag = fieldOf(answer, 'etag');
  if (etag === null) throw new Refusal(answer, 'no_etag');
  return etag.replaceAll('"', '');
}
