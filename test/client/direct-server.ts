import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { createServer, type IncomingMessage, type RequestListener, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Test } from 'tap';
import { type Answer, answer, refuse } from './scripted-server.ts';

export type Step = 'options' | 'plan' | 'state' | 'parts' | 'put' | 'complete';

/** A request of a direct upload. */
export interface DirectRequest {
  readonly step: Step;
  /** Of a part. */
  readonly number: number;
  readonly query: string;
  readonly body: Buffer;
  readonly headers: IncomingMessage['headers'];
  /** Requests of this step, and this part, so far: 1 for the first. */
  readonly time: number;
}

/** What happens instead of the answer. */
export interface Fault {
  readonly answer: Answer;
  /** Whether the work is done nevertheless. */
  readonly done?: boolean;
}

export interface DirectServerOptions {
  readonly fault?: (request: DirectRequest) => Fault | undefined;
  readonly partBytes?: number;
  /** Whether the bucket allows pages of other origins, and shows them ETags. */
  readonly cors?: boolean;
  readonly showsEtags?: boolean;
  /** Absent: the bucket's. */
  readonly origin?: string | null;
}

interface Stored {
  readonly asked: { readonly name: string; readonly size: number; readonly contentType?: string };
  readonly partBytes: number;
  readonly parts: Map<number, { readonly bytes: Buffer; readonly etag: string }>;
  file?: object;
}

/** The bucket's refusal. */
export function bucketError(status: number, code: string): Answer {
  return (response) => {
    response
      .writeHead(status, { 'content-type': 'application/xml' })
      .end(`<?xml version="1.0"?>\n<Error><Code>${code}</Code><Message>It is ${code}</Message></Error>`);
  };
}

/** A service and a bucket that speak the contract of direct uploads, on two ports. */
export async function directServer(t: Pick<Test, 'teardown'>, options: DirectServerOptions = {}) {
  const uploads = new Map<string, Stored>();
  const heard: DirectRequest[] = [];
  const underWay = { now: 0, most: 0 };
  const serving =
    (work: (request: DirectRequest, path: readonly string[]) => Answer, allows: boolean): RequestListener =>
    async (incoming, response) => {
      if (allows) allowPages(response, options.showsEtags ?? true);
      if (incoming.method === 'OPTIONS') return void response.writeHead(allows ? 204 : 403).end();
      const { path, ...named } = readRequest(incoming);
      if (named.step === 'put') underWay.most = Math.max(underWay.most, ++underWay.now);
      const pieces: Buffer[] = [];
      for await (const piece of incoming) pieces.push(piece as Buffer);
      if (named.step === 'put') underWay.now--;
      const time =
        heard.filter(({ step, number }) => step === named.step && number === named.number).length + 1;
      const request = { ...named, body: Buffer.concat(pieces), headers: incoming.headers, time };
      heard.push(request);
      const fault = options.fault?.(request);
      const answered = fault && !fault.done ? undefined : work(request, path);
      (fault?.answer ?? answered)?.(response);
    };
  const bucket = await listen(t, serving(putPart(uploads), options.cors ?? true));
  const service = serviceOf(uploads, bucket, options);
  const url = await listen(t, serving(service, true));
  const steps = (): string[] => heard.map(({ step, number }) => (number ? `${step} ${number}` : step));
  return { url, bucket, heard, uploads, steps, underWay };
}

async function listen(t: Pick<Test, 'teardown'>, listener: RequestListener): Promise<string> {
  const server = createServer(listener);
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.teardown(() => {
    server.close();
    server.closeAllConnections();
  });
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

function allowPages(response: ServerResponse, showsEtags: boolean): void {
  response.setHeader('access-control-allow-origin', '*');
  response.setHeader('access-control-allow-methods', 'GET, PUT, POST');
  response.setHeader('access-control-allow-headers', 'authorization, content-type');
  if (showsEtags) response.setHeader('access-control-expose-headers', 'ETag');
}

function readRequest({ method = '', url = '' }: IncomingMessage) {
  const { pathname, search } = new URL(url, 'http://127.0.0.1');
  const path = pathname.split('/').slice(1);
  const number = path[0] === 'bucket' ? Number(path[2]) : 0;
  const ways: readonly [RegExp, Step][] = [
    [/^PUT \/bucket/, 'put'],
    [/^GET .*\/options$/, 'options'],
    [/^POST .*\/direct$/, 'plan'],
    [/^POST .*\/complete$/, 'complete'],
    [/^GET .*\?(?!.*uploaded)/, 'parts'],
  ];
  const [, step = 'state'] = ways.find(([way]) => way.test(`${method} ${step0(pathname, search)}`)) ?? [];
  return { path, number, step, query: search.slice(1) } as const;
}

function step0(pathname: string, search: string): string {
  return search.includes('parts=') ? pathname + search : pathname;
}

const putPart =
  (uploads: Map<string, Stored>) =>
  ({ body, number }: DirectRequest, [, id = '']: readonly string[]): Answer => {
    const upload = uploads.get(id);
    if (!upload) return bucketError(404, 'NoSuchUpload');
    const etag = createHash('md5').update(body).digest('hex');
    upload.parts.set(number, { bytes: body, etag });
    return (response) => void response.writeHead(200, { etag: `"${etag}"` }).end();
  };

const serviceOf =
  (uploads: Map<string, Stored>, bucket: string, options: DirectServerOptions) =>
  ({ step, query, body }: DirectRequest, [, project, , id = '']: readonly string[]): Answer => {
    const origin = options.origin === undefined ? bucket : options.origin;
    if (step === 'options')
      return answer(200, { direct: { origin } }, { 'cache-control': 'public, max-age=300' });
    const key = step === 'plan' ? `u${uploads.size + 1}` : id;
    if (step === 'plan') {
      const asked = JSON.parse(`${body}`);
      uploads.set(key, { asked, partBytes: options.partBytes ?? asked.partBytes, parts: new Map() });
    }
    const upload = uploads.get(key);
    if (!upload) return refuse(404, 'not_found');
    const link = /upload=\w+/.exec(query)?.[0];
    const location = `/_f_/${project}/direct/${key}${link ? `?${link}` : ''}`;
    if (step === 'complete') return complete(upload, `${body}`);
    if (upload.file) return answer(200, { state: 'complete', location, file: upload.file });
    const { partBytes, asked } = upload;
    const partCount = Math.ceil(asked.size / partBytes);
    const [, from, to] = /parts=(\d+)-(\d+)/.exec(step === 'plan' ? 'parts=1-100' : query) ?? [];
    const parts = Array.from({ length: partCount }, (_, index) => ({
      ...{ number: index + 1, offset: index * partBytes, method: 'PUT', headers: {} },
      size: Math.min(partBytes, asked.size - index * partBytes),
      url: `${bucket}/bucket/${key}/${index + 1}?signature=${uploads.size}`,
    }));
    const uploaded = [...upload.parts].map(([number, { bytes, etag }]) => ({
      number,
      size: bytes.length,
      etag,
    }));
    return answer(step === 'plan' ? 201 : 200, {
      ...{ state: 'open', location, size: asked.size, partBytes, partCount },
      ...(from && { parts: parts.slice(Number(from) - 1, Math.min(Number(to), Number(from) + 99)) }),
      ...(query.includes('uploaded=true') && { uploaded }),
    });
  };

function complete(upload: Stored, body: string): Answer {
  const { asked, parts, partBytes } = upload;
  const all = [...parts].sort(([one], [other]) => one - other);
  const bytes = Buffer.concat(all.map(([, part]) => part.bytes));
  const given: readonly { number: number; etag: string }[] = JSON.parse(body).parts ?? [];
  const isWrong =
    all.some(([number], index) => number !== index + 1) ||
    parts.size !== Math.ceil(asked.size / partBytes) ||
    bytes.length !== asked.size ||
    given.some(({ number, etag }) => parts.get(number)?.etag !== etag.replaceAll('"', ''));
  if (isWrong) return refuse(409, 'upload_conflict', { 'retry-after': '0' });
  const sha256 = createHash('sha256').update(bytes).digest('hex');
  upload.file ??= { name: 'stored', originalName: asked.name, size: asked.size, sha256 };
  return answer(200, upload.file);
}
