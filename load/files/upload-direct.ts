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

export interface DirectPlan {
  /** The server's name for the file. */
  readonly id: string;
  readonly location: string;
  readonly partCount: number;
  readonly parts: readonly Part[];
}

export interface SentPart {
  readonly number: number;
  readonly etag: string;
}

/** Addresses that one answer may have. */
const mostAddresses = 100;

/** Sends the bytes to the bucket, or to where else the server says. @returns the server's name for the file */
export async function uploadDirect(exchange: Exchange, file: SeedFile): Promise<string> {
  const plan = await planDirect(exchange, file);
  return completeDirect(exchange, plan, await sendParts(exchange, file, plan));
}

export function planDirect(exchange: Exchange, { name, bytes: size }: SeedFile): Promise<DirectPlan> {
  const contentType = 'application/octet-stream';
  return exchange.ask(201, `POST ${exchange.path('direct')}`, { name, size, contentType });
}

/** @returns what completes the upload */
export async function sendParts(exchange: Exchange, file: SeedFile, plan: DirectPlan): Promise<SentPart[]> {
  const { location, partCount } = plan;
  const sent: SentPart[] = [];
  for (let { parts } = plan; ; ) {
    for (const part of parts) sent.push({ number: part.number, etag: await sendPart(exchange, file, part) });
    if (sent.length >= partCount || parts.length === 0) return sent;
    const last = Math.min(sent.length + mostAddresses, partCount);
    ({ parts } = await exchange.ask<DirectPlan>(200, `GET ${location}?parts=${sent.length + 1}-${last}`));
  }
}

/** @returns the server's name for the file */
export async function completeDirect(
  exchange: Exchange,
  { location }: DirectPlan,
  parts: readonly SentPart[],
): Promise<string> {
  return (await exchange.ask<{ name: string }>(200, `POST ${location}/complete`, { parts })).name;
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
