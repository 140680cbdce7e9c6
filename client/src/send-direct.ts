import { attemptWith } from './attempt-with.ts';
import { json, notSluice, SluiceError, send } from './client.ts';
import type { CloudFile } from './files.ts';
import { keepAddress } from './keep-address.ts';
import { withQuery } from './query-of.ts';
import { reporting } from './reporting.ts';
import { resumeAfter } from './resume-after.ts';
import { type LargeUpload, pathOfUpload } from './upload.ts';

/** A part, and the address to send it to. */
interface Part {
  readonly number: number;
  readonly offset: number;
  readonly size: number;
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
}

interface Plan {
  readonly location: string;
  readonly size: number;
  readonly partBytes: number;
  readonly partCount: number;
  readonly parts?: readonly Part[];
  readonly uploaded?: readonly { readonly number: number; readonly size: number; readonly etag: string }[];
  /** Present once the upload is complete. */
  readonly file?: CloudFile;
}

/**
 * The ETags of the parts whose requests were answered; null: the bucket does not show them to this page. Others are sent
 * again, even if the bucket lists them: Versity's gateway stores a part whose connection was closed before its end, and
 * lists it with its whole size.
 */
type Stored = Map<number, string | null>;

/** Milliseconds for a request to the service; a part has twice that. */
const timeout = 240_000;
/** Bytes per millisecond. */
const slowestRead = 10_000;
/** Milliseconds, of the 15 minutes for which addresses hold. */
const useAddressesFor = 600_000;
const mostAddresses = 100;

declare const location: { readonly origin: string } | undefined;

/** Sends the bytes to the bucket itself (docs/api.md, "Direct uploads"). */
export async function sendDirect(upload: LargeUpload): Promise<CloudFile> {
  const [begun, ...answered] = JSON.parse(keepAddress(upload) ?? '[null]');
  const stored: Stored = new Map(answered);
  let address: string | null = begun;
  let [tries, most, lanes] = [0, 0, 3];
  for (;;) {
    try {
      const plan = await (address ? ask<Plan>(upload, address, '', 'uploaded=true') : begin(upload));
      address = plan.location;
      let { file } = plan;
      if (!file) {
        await sendParts(upload, plan, stored, lanes);
        const parts = [...stored].map(([number, etag]) => ({ number, etag }));
        // without the ETags the service asks the bucket for them
        const body = parts.every(({ etag }) => etag) ? { parts } : {};
        file = await ask<CloudFile>(upload, address, '/complete', '', body);
      }
      keepAddress(upload, null);
      return file;
    } catch (failure) {
      if (stored.size > most) [most, tries] = [stored.size, 0];
      address = await resumeAfter(failure, upload, address, tries++);
      // on a slow connection, a part gets all of it
      if ((failure as { cause?: Error }).cause?.name === 'TimeoutError') lanes = 1;
    }
  }
}

async function begin(upload: LargeUpload): Promise<Plan> {
  const { bytes, name, type, partBytes } = upload;
  return ask(upload, pathOfUpload(upload, 'direct'), '', '', {
    ...{ name, size: bytes.size, partBytes },
    ...(type && { contentType: type }),
  });
}

/** Sends a request to the service. @param address may have the query of an upload link @param body none: GET */
async function ask<Answer>(
  { client, bytes, signal }: LargeUpload,
  address: string,
  path: string,
  query: string,
  body?: object,
): Promise<Answer> {
  // a completion may read all bytes, or copy them
  const limit = path ? timeout + Math.ceil((bytes.size ?? 0) / slowestRead) : timeout;
  const call = {
    method: body ? 'POST' : 'GET',
    path: withQuery(address.replace(/(?=\?)|$/, path), query),
    ...(body && { headers: { 'content-type': 'application/json' } }),
    ...attemptWith(body && JSON.stringify(body), limit, signal),
    signal,
    // by the loop over rounds
    repeatable: false,
  };
  return send(client, call, json<Answer>);
}

/** Sends what is not stored yet. Rejects with the first failure, once no part is under way any more. */
async function sendParts(upload: LargeUpload, plan: Plan, stored: Stored, lanes: number): Promise<void> {
  const { location, size, partBytes, partCount, uploaded = [] } = plan;
  const sent = new Map<number, number>();
  const report = (number: number, bytes: number): void => {
    sent.set(number, bytes);
    upload.onProgress?.({ sent: [...sent.values()].reduce((sum, each) => sum + each, 0), size });
  };
  const keep = (): unknown => keepAddress(upload, JSON.stringify([location, ...stored]));
  for (const [number, etag] of stored) {
    const listed = uploaded.find((part) => part.number === number);
    if (
      listed?.size === Math.min(partBytes, size - (number - 1) * partBytes) &&
      (etag ?? listed.etag) === listed.etag
    )
      sent.set(number, listed.size);
    else stored.delete(number);
  }
  // it would be refused, most likely by closing the connection
  if (partCount === 1 && uploaded[0] && !stored.size) throw refused(412);
  keep();
  report(0, 0);
  let { parts } = plan;
  for (let first = 1; first <= partCount; ) {
    if (stored.has(first)) {
      first++;
      continue;
    }
    const range = `parts=${first}-${Math.min(first + mostAddresses - 1, partCount)}`;
    parts ??= (await ask<Plan>(upload, location, '', range)).parts;
    const left = parts?.filter(({ number }) => !stored.has(number));
    if (!left?.[0]) throw notSluice(200);
    parts = undefined;
    const until = Date.now() + useAddressesFor;
    const lane = async (): Promise<void> => {
      while (Date.now() < until) {
        const part = left.shift();
        if (!part) return;
        const { number } = part;
        try {
          const isAllowed = stored.size > 0;
          stored.set(number, await sendPart(upload, part, isAllowed, (bytes) => report(number, bytes)));
          keep();
          report(number, part.size);
        } catch (failure) {
          left.length = 0;
          throw failure;
        }
      }
    };
    const ends = Array.from({ length: lanes }, lane);
    await Promise.allSettled(ends);
    await Promise.all(ends);
  }
}

/** @param isAllowed the bucket has answered this page before @returns the ETag; null: the bucket does not show it */
async function sendPart(
  upload: LargeUpload,
  { offset, size, url, headers }: Part,
  isAllowed: boolean,
  onSent: (bytes: number) => void,
): Promise<string | null> {
  const { client, bytes, signal } = upload;
  const body = await bytes.part(offset, size);
  const fetching = reporting(upload, onSent).fetch ?? fetch;
  let answer: Response;
  let text: string;
  try {
    const attempt = attemptWith(body, 2 * timeout, signal).attempt?.();
    answer = await fetching(url, { method: 'PUT', headers, ...attempt });
    text = await answer.text();
  } catch (cause) {
    signal?.throwIfAborted();
    // rejects if the file has changed on the disk
    await body.slice(0, 1).arrayBuffer();
    throw unanswered(client.url, url, isAllowed, cause);
  }
  const { ok, status, headers: answered } = answer;
  if (ok) return answered.get('etag')?.replaceAll('"', '') ?? null;
  throw refused(
    status,
    /code"?[:>]"?(\w+)/i.exec(text)?.[1],
    Number(answered.get('retry-after')) * 1000 || undefined,
  );
}

/** The error for a part that the bucket does not take: the upload begins anew, or the part gets a new address. */
function refused(status: number, reason = `${status}`, retryAfter?: number): SluiceError {
  // 412: an earlier request has stored the object, perhaps without all of its bytes
  const code = /404|410|412/.test(`${status}`) ? 'not_found' : 'bucket_refused';
  return new SluiceError({ code, status, message: `The bucket refused it: ${reason}`, retryAfter });
}

/** The error for a part without an answer. A page is not told whether the bucket is down, or refuses the page's origin. */
function unanswered(service: string, url: string, isAllowed: boolean, cause: unknown): SluiceError {
  const { origin } = new URL(url);
  const page = typeof location === 'object' ? location.origin : origin;
  const isBucket = !url.startsWith(`${service}/_f_/`) && cause instanceof TypeError;
  const isRefused = isBucket && page !== origin && !isAllowed;
  const remedy = `: is it up, with CORS for ${page}? \`npm run -s sluice -- bucket --fix --origin ${page}\` sets them`;
  return new SluiceError({
    code: isRefused ? 'bucket_cors' : isBucket ? 'bucket_unreachable' : 'no_answer',
    status: 0,
    message: `No answer from ${origin}${isRefused ? remedy : ''}`,
    cause,
  });
}
