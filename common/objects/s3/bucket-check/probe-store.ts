import {
  type BucketRequests,
  codeOf,
  isSuccess,
  md5Of,
  refusalText,
  type SeenAnswer,
} from './bucket-requests.ts';
import type { ProbeKeys } from './probe-keys.ts';
import { rulesOf, valuesOf } from './rule-document.ts';

/** What the store was seen to do. */
export interface Probed {
  /** Why the store refuses a presigned request with nothing wrong; null: it takes one. */
  readonly refusal: string | null;
  readonly seen: readonly Seen[];
}

export interface Seen {
  readonly behaviour: Behaviour;
  /** Whether it is as direct uploads wish it. */
  readonly good: boolean;
  /** In words, for the operator. */
  readonly outcome: string;
}

export type Behaviour = keyof typeof behaviours;

/** What is tried, in the order of the table. */
export const behaviours = {
  altered: 'address with another key',
  expired: 'address that has expired',
  omitted: 'signed header left out',
  length: 'other length than signed',
  md5: 'wrong Content-MD5',
  crc32c: 'wrong x-amz-checksum-crc32c',
  overwrite: 'second PUT with If-None-Match: *',
  etag: 'ETag is the MD5',
  whole: 'HEAD shows the CRC-32C',
  partMd5: 'part: wrong Content-MD5',
  partCrc32c: 'part: wrong x-amz-checksum-crc32c',
  partNumber: 'part: number 10,001',
  partEtag: 'part: ETag is the MD5',
  listed: 'ListParts shows the CRC-32C',
  completeOver: 'completion with If-None-Match: *',
} as const;

/** The bytes that are sent, and their CRC-32C: the check value of that algorithm. */
const body = '123456789';
const crc32c = '4waSgw==';
const wrongCrc32c = 'AAAAAA==';
const wrongMd5 = md5Of('');
const contentType = 'text/plain';
const crcName = 'x-amz-checksum-crc32c';
/** Seconds. */
const lifetime = 300;
const asMd5 = (text: string): string => `"${Buffer.from(md5Of(text), 'base64').toString('hex')}"`;

type SignedHeaders = Readonly<Record<string, string>>;

interface Put {
  readonly key: string;
  readonly query?: Readonly<Record<string, string>>;
  /** Signed. */
  readonly headers?: SignedHeaders;
  /** Sent in place of those that are signed. */
  readonly sent?: Readonly<Record<string, string>>;
  readonly body?: string;
}

/** Sends small requests as a client could, right and wrong ones. */
class Probe {
  readonly #requests: BucketRequests;
  readonly #signal: AbortSignal;
  readonly keys: ProbeKeys;
  readonly seen: Seen[] = [];

  constructor(requests: BucketRequests, keys: ProbeKeys, signal: AbortSignal) {
    this.#requests = requests;
    this.keys = keys;
    this.#signal = signal;
  }

  async put({ key, query = {}, headers = {}, sent = headers, body: bytes = body }: Put): Promise<SeenAnswer> {
    return this.send({ method: 'PUT', key, query, headers, sent, body: bytes });
  }

  async send({
    method,
    sent,
    body: bytes,
    ...signed
  }: Required<Put> & { readonly method: 'PUT' | 'GET' | 'HEAD' | 'POST' }): Promise<SeenAnswer> {
    const { url } = await this.#requests.presign({ method, ...signed, lifetime }, this.#signal);
    return this.#requests.send({ method, url, headers: sent, body: bytes }, this.#signal);
  }

  /** An address for `key`, changed by hand. */
  async sendTo(change: 'altered' | 'expired'): Promise<SeenAnswer> {
    const { presign, presignExpired, send } = this.#requests;
    const [key, another] = [this.keys.next(), this.keys.next()];
    const sign = change === 'expired' ? presignExpired : presign;
    const { url } = await sign({ method: 'PUT', key, query: {}, headers: {}, lifetime }, this.#signal);
    return send(
      { method: 'PUT', url: change === 'expired' ? url : url.replace(key, another), body },
      this.#signal,
    );
  }

  refused(behaviour: Behaviour, answer: SeenAnswer): void {
    const good = !isSuccess(answer);
    this.seen.push({ behaviour, good, outcome: good ? `refused (${refusalText(answer)})` : 'accepted' });
  }

  has(behaviour: Behaviour, good: boolean): void {
    this.seen.push({ behaviour, good, outcome: good ? 'yes' : 'no' });
  }

  /** A refusal of a wrong checksum says nothing if the right one is refused, too. */
  refusedUnlike(right: SeenAnswer, behaviour: Behaviour, answer: SeenAnswer): void {
    if (isSuccess(right)) this.refused(behaviour, answer);
    else
      this.seen.push({ behaviour, good: false, outcome: `the right one is refused (${refusalText(right)})` });
  }
}

/** Tries what the store enforces. Rejects when it does not answer. @param keys are removed by the caller */
export async function probeStore(
  requests: BucketRequests,
  keys: ProbeKeys,
  signal: AbortSignal,
): Promise<Probed> {
  const probe = new Probe(requests, keys, signal);
  const refusal = await probeObjects(probe);
  if (refusal === null) await probeParts(probe);
  return { refusal, seen: probe.seen };
}

/** @returns why a right PUT was refused; null: it was not */
async function probeObjects(probe: Probe): Promise<string | null> {
  const { keys } = probe;
  const key = keys.next();
  const right = {
    'content-length': `${body.length}`,
    'content-type': contentType,
    'content-md5': md5Of(body),
  };
  const stored = await probe.put({ key, headers: right });
  if (!isSuccess(stored)) return refusalText(stored);
  probe.refused('altered', await probe.sendTo('altered'));
  probe.refused('expired', await probe.sendTo('expired'));
  const typed = { 'content-type': contentType };
  probe.refused('omitted', await probe.put({ key: keys.next(), headers: typed, sent: {} }));
  const short = { 'content-length': `${body.length - 1}` };
  probe.refused('length', await probe.put({ key: keys.next(), headers: short }));
  probe.refused('md5', await probe.put({ key: keys.next(), headers: { 'content-md5': wrongMd5 } }));
  const checked = keys.next();
  const crc = await probe.put({ key: checked, headers: { [crcName]: crc32c } });
  const wrong = { key: keys.next(), headers: { [crcName]: wrongCrc32c } };
  probe.refusedUnlike(crc, 'crc32c', await probe.put(wrong));
  probe.refused('overwrite', await probe.put({ key, headers: { 'if-none-match': '*' } }));
  probe.has('etag', stored.headers.etag === asMd5(body));
  const mode = { 'x-amz-checksum-mode': 'ENABLED' };
  const head = await probe.send({
    method: 'HEAD',
    key: checked,
    query: {},
    headers: mode,
    sent: mode,
    body: '',
  });
  probe.has('whole', head.headers[crcName] === crc32c);
  return null;
}

async function probeParts(probe: Probe): Promise<void> {
  const key = probe.keys.next();
  const uploadId = await begin(probe, key);
  if (uploadId === null) return;
  const part = (headers: SignedHeaders): Promise<SeenAnswer> =>
    probe.put({ key, query: { uploadId, partNumber: '1' }, headers });
  const crc = { [crcName]: crc32c };
  const sent = await part({ 'content-md5': md5Of(body), ...crc });
  // some refuse any checksum header, others a part without one
  const usual = isSuccess(sent) ? crc : {};
  const stored = isSuccess(sent) ? sent : await part({ 'content-md5': md5Of(body) });
  probe.refused('partMd5', await partOfItsOwn(probe, '1', { 'content-md5': wrongMd5, ...usual }));
  probe.refusedUnlike(sent, 'partCrc32c', await partOfItsOwn(probe, '1', { [crcName]: wrongCrc32c }));
  probe.refused('partNumber', await partOfItsOwn(probe, '10001', usual));
  probe.has('partEtag', stored.headers.etag === asMd5(body));
  const none = { headers: {}, sent: {}, body: '' };
  const list = await probe.send({ method: 'GET', key, query: { uploadId }, ...none });
  const [listed = ''] = rulesOf(list.text, { rule: 'Part' });
  probe.has('listed', valuesOf(listed, 'ChecksumCRC32C').includes(crc32c));
  await probe.put({ key });
  await completeOver(probe, key, stored);
}

/** A part of an upload of its own: rclone drops an upload with its first wrong part. */
async function partOfItsOwn(probe: Probe, partNumber: string, headers: SignedHeaders): Promise<SeenAnswer> {
  const key = probe.keys.next();
  const uploadId = (await begin(probe, key)) ?? '';
  return probe.put({ key, query: { uploadId, partNumber }, headers });
}

/** Completes another upload to a key that exists. */
async function completeOver(
  probe: Probe,
  key: string,
  { headers: { etag = '' } }: SeenAnswer,
): Promise<void> {
  const uploadId = await begin(probe, key, {});
  if (uploadId === null) return;
  const { headers } = await probe.put({ key, query: { uploadId, partNumber: '1' } });
  const document = `<CompleteMultipartUpload xmlns="http://s3.amazonaws.com/doc/2006-03-01/"><Part><ETag>${headers.etag ?? etag}</ETag><PartNumber>1</PartNumber></Part></CompleteMultipartUpload>`;
  const once = { 'if-none-match': '*' };
  const answer = await probe.send({
    method: 'POST',
    key,
    query: { uploadId },
    headers: once,
    sent: { ...once, 'content-type': 'application/xml' },
    body: document,
  });
  // S3 may begin its answer with 200 before it knows
  const failed = codeOf(answer) !== '';
  probe.refused(
    'completeOver',
    failed ? { ...answer, status: isSuccess(answer) ? 412 : answer.status } : answer,
  );
}

/** @returns the id of a multipart upload; null: the store refuses one */
async function begin(
  probe: Probe,
  key: string,
  headers: Readonly<Record<string, string>> = { 'x-amz-checksum-algorithm': 'CRC32C' },
): Promise<string | null> {
  const request = { method: 'POST', key, query: { uploads: '' }, body: '' } as const;
  const begun = await probe.send({ ...request, headers, sent: headers });
  const answer = isSuccess(begun) ? begun : await probe.send({ ...request, headers: {}, sent: {} });
  const [id = null] = valuesOf(answer.text, 'UploadId');
  if (id !== null) probe.keys.begun(key, id);
  return id;
}
