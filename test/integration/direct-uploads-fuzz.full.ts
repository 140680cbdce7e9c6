/** Random sequences of everything that clients do with direct uploads, against a small model of what must come of it. */
import { createHash, randomBytes } from 'node:crypto';
import { readdir, stat, utimes } from 'node:fs/promises';
import { join } from 'node:path';
import t, { type Test } from 'tap';
import { createFileSystemStore } from '#objects/file-system/file-system-store.ts';
import type { ObjectStore } from '#objects/object-store.ts';
import { DirectClient, type Planned } from '../services/direct-client.ts';
import { serveGatewayOn } from '../services/gateway-on-s3.ts';
import { testDeployment } from '../services/new-file.ts';
import { randomFrom } from '../services/random-from.ts';
import { openStubStore } from '../services/stub-store.ts';
import { temporaryFolder } from '../services/temporary-folder.ts';
import { testJanitor } from '../services/test-janitor.ts';
import { seed, sized } from '../services/test-size.ts';

const partBytes = 5 * 1024 * 1024;
const day = 86_400_000;
/** More than a plan or a mark is kept for late bytes. Milliseconds. */
const longAfter = day + 3 * 3_600_000;
const never = new AbortController().signal;
/** Of an account. Bytes. */
const quota = 2 * partBytes;
const sequences = sized(2000);
const steps = 15;
const accounts = ['1', '2', '3', '4'].map((digit) => `${digit}b9e2f4e-6a57-4f8a-9d0c-1f2e3d4c5b6a`);
/** Where random bytes are taken from. */
const pool = randomBytes(quota);

interface Place {
  readonly store: ObjectStore;
  /** Parts that were sent can be sent again with other bytes, until the file is made. */
  readonly replaces: (planned: Planned) => boolean;
  /** Makes all that is stored older. Milliseconds. */
  age(milliseconds: number): Promise<void>;
}

/** A planned upload as the model has it. */
interface Upload {
  readonly planned: Planned;
  readonly content: Buffer;
  readonly withMd5: boolean;
  readonly withSha256: boolean;
  readonly parts: Map<number, { readonly etag: string; readonly bytes: Buffer }>;
  readonly oldEtags: string[];
  state: 'open' | 'file' | 'gone';
  /** Of the file. */
  bytes: Buffer;
}

/** One account and its uploads. */
class Account {
  readonly #t: Test;
  readonly #client: DirectClient;
  readonly #place: Place;
  readonly #random: () => number;
  readonly uploads: Upload[] = [];
  /** What was done, for a failure. */
  #did: string[] = [];

  constructor(t: Test, client: DirectClient, place: Place, random: () => number) {
    this.#t = t;
    this.#client = client;
    this.#place = place;
    this.#random = random;
  }

  draw(limit: number): number {
    return Math.floor(this.#random() * limit);
  }

  get used(): number {
    return this.uploads
      .filter(({ state }) => state !== 'gone')
      .reduce((sum, { content }) => sum + content.length, 0);
  }

  async step(janitor: () => Promise<void>): Promise<void> {
    const upload = this.uploads[this.draw(this.uploads.length)];
    const which = this.draw(20);
    if (upload === undefined || which < 3) await this.#plan();
    else if (which < 9) await this.#put(upload);
    else if (which < 14) await this.#complete(upload);
    else if (which < 16) await this.#look(upload);
    else if (which < 17) await this.#drop(upload);
    else if (which < 18) await this.#delete(upload);
    else if (which < 19) await this.#read(upload);
    else await janitor();
  }

  /** Ends all, and forgets it. */
  async end(): Promise<void> {
    for (const upload of this.uploads) {
      await this.#read(upload);
      if (upload.state === 'open') await this.#drop(upload);
      if (upload.state === 'file') await this.#delete(upload);
    }
    this.uploads.length = 0;
    this.#did = [];
  }

  #ok(condition: boolean, what: string, answer: unknown): void {
    this.#did.push(what);
    if (condition) return;
    this.#t.fail(`${what}: ${JSON.stringify(answer)}`, { did: this.#did });
    throw new Error('the model is not what the server does');
  }

  #bytes(size: number): Buffer {
    const from = this.draw(pool.length - size);
    return pool.subarray(from, from + size);
  }

  async #plan(): Promise<void> {
    const kind = this.draw(100);
    const size =
      kind === 0 ? partBytes + 1 + this.draw(1000) : kind === 1 ? quota : kind < 8 ? 0 : 1 + this.draw(2000);
    const content = kind === 1 ? pool : this.#bytes(size);
    const [withMd5, withSha256] = [size > 0 && kind !== 1 && this.draw(3) === 0, this.draw(3) === 0];
    const answer = await this.#client.ask('POST', '/_f_/demo/direct', {
      name: `f${this.draw(10)}`,
      size,
      partBytes,
      ...(withSha256 && { sha256: createHash('sha256').update(content).digest('hex') }),
      ...(withMd5 && {
        partMd5: partsOf(content).map((part) => createHash('md5').update(part).digest('base64')),
      }),
    });
    const { status } = answer;
    const { used } = this;
    // for a moment a plan is counted with its file
    const fits = status === 201 ? used + size <= quota : status === 403 && 2 * used + size > quota;
    this.#ok(fits, `plan ${size}`, answer);
    if (status !== 201) return;
    const state = { parts: new Map(), oldEtags: [], state: 'open' as const, bytes: Buffer.alloc(0) };
    this.uploads.push({ planned: answer.body, content, withMd5, withSha256, ...state });
  }

  async #put(upload: Upload): Promise<void> {
    const { planned, content, parts, withMd5, oldEtags } = upload;
    const part = planned.parts[this.draw(planned.parts.length)];
    if (part === undefined) return;
    const { number, offset, size } = part;
    const kind = this.draw(6);
    const right = content.subarray(offset, offset + size);
    const bytes = kind === 0 ? this.#bytes(size) : kind === 1 ? right.subarray(1) : right;
    const answer = await this.#client.put(part, bytes);
    const { status, etag } = answer;
    const before = parts.get(number);
    const isSame = bytes.equals(right);
    const takes = before === undefined || this.#place.replaces(planned);
    const expected = kind === 1 || (withMd5 && !isSame) ? status >= 400 : (status === 200) === takes;
    this.#ok(
      status < 500 && (upload.state !== 'open' || expected),
      `put ${kind} of ${planned.id}/${number}, ${upload.state}`,
      answer,
    );
    if (status !== 200 || upload.state !== 'open') return;
    if (before !== undefined && before.etag !== etag) oldEtags.push(before.etag);
    parts.set(number, { etag, bytes });
  }

  async #complete(upload: Upload): Promise<void> {
    const { planned, content, parts, oldEtags } = upload;
    const list = [...parts].map(([number, { etag }]) => ({ number, etag }));
    const kind = this.draw(8);
    const stale = oldEtags[this.draw(oldEtags.length)] ?? '"0"';
    const lists = [undefined, list.slice(1), list.map(({ number }) => ({ number, etag: stale }))] as const;
    const verifies = this.draw(4) === 0;
    const sent = kind < 3 ? lists[kind] : list;
    const answer = await this.#client.ask(
      'POST',
      `${planned.location}/complete${verifies ? '?verify=bytes' : ''}`,
      sent && { parts: sent },
    );
    const { status, body } = answer;
    const what = `complete ${kind} ${verifies} of ${planned.id}, ${upload.state}`;
    if (upload.state !== 'open') {
      this.#ok(status === (upload.state === 'file' ? 200 : 404), what, answer);
      return;
    }
    const whole = parts.size === planned.partCount;
    const isList =
      sent === undefined ||
      (sent.length === list.length && sent.every(({ etag }, at) => etag === list[at]?.etag));
    if (!whole || !isList) {
      this.#ok(status === 409 && body.code === 'upload_conflict', what, answer);
      return;
    }
    const bytes = Buffer.concat([...parts].sort(([a], [b]) => a - b).map(([, part]) => part.bytes));
    if (verifies && upload.withSha256 && !bytes.equals(content)) {
      this.#ok(status === 400 && body.code === 'checksum_mismatch', what, answer);
      const { status: after } = await this.#client.state(planned);
      this.#ok(after === 404 || after === 200, 'after a mismatch', after);
      if (after === 404) upload.state = 'gone';
      else parts.clear();
      return;
    }
    this.#ok(status === 200 && body.size === content.length, what, answer);
    upload.state = 'file';
    upload.bytes = bytes;
  }

  async #look(upload: Upload): Promise<void> {
    const { planned, parts, state } = upload;
    const answer = await this.#client.ask('GET', `${planned.location}?uploaded=true&parts=1-2`);
    const { status, body } = answer;
    const what = `look at ${planned.id}, ${state}`;
    if (state === 'gone') this.#ok(status === 404, what, answer);
    else if (state === 'file') this.#ok(body.state === 'complete', what, answer);
    else {
      const listed = (body.uploaded ?? []).map(
        ({ number, etag }: { number: number; etag: string }) => `${number} "${etag}"`,
      );
      const known = [...parts].sort(([a], [b]) => a - b).map(([number, { etag }]) => `${number} ${etag}`);
      this.#ok(status === 200 && listed.join() === known.join(), what, answer);
    }
  }

  async #drop(upload: Upload): Promise<void> {
    const { status } = await this.#client.drop(upload.planned);
    const expected = { open: 204, file: 409, gone: 404 }[upload.state];
    this.#ok(status === expected, `drop ${upload.planned.id}, ${upload.state}`, status);
    if (upload.state === 'open') upload.state = 'gone';
  }

  async #delete(upload: Upload): Promise<void> {
    const status = await this.#client.delete(upload.planned.id);
    this.#ok(status === (upload.state === 'file' ? 204 : 404), `delete ${upload.planned.id}`, status);
    if (upload.state === 'file') upload.state = 'gone';
  }

  async #read(upload: Upload): Promise<void> {
    const bytes = await this.#client.bytesOf(upload.planned.id);
    const isRight = upload.state === 'file' ? bytes?.equals(upload.bytes) === true : bytes === null;
    this.#ok(isRight, `read ${upload.planned.id}, ${upload.state}`, bytes?.length);
  }
}

function partsOf(content: Buffer): Buffer[] {
  return Array.from({ length: Math.ceil(content.length / partBytes) }, (_, at) =>
    content.subarray(at * partBytes, (at + 1) * partBytes),
  );
}

async function fuzz(t: Test, place: Place): Promise<void> {
  const { store } = place;
  const { baseUrl, cloudFiles, plans, rows } = await serveGatewayOn(t, store, {
    expireAfter: day,
    limits: { files: 0, bytes: quota },
  });
  const janitorOf = () => testJanitor({ store, cloudFiles, plans, staleAfter: day, grace: 0 });
  const runJanitor = async (): Promise<void> => {
    const { failures, rowsMade, uploadsExpired } = await janitorOf().run({ dryRun: false });
    if (failures + rowsMade + uploadsExpired > 0)
      t.fail('the janitor has nothing to do', { failures, rowsMade, uploadsExpired });
  };
  await Promise.all(
    accounts.map(async (owner, at) => {
      const client = new DirectClient(baseUrl, { 'test-owner': owner });
      const account = new Account(t, client, place, randomFrom(seed + at));
      for (let sequence = at; sequence < sequences; sequence += accounts.length) {
        for (let step = 0; step < steps; step++) await account.step(runJanitor);
        await account.end();
      }
    }),
  );
  await plans.settle();
  t.equal(rows.size, 0);
  for (const owner of accounts) {
    const client = new DirectClient(baseUrl, { 'test-owner': owner });
    const planned = await client.plan({ size: quota, partBytes });
    t.equal((await client.drop(planned)).status, 204, 'the whole quota is free');
  }
  await place.age(longAfter);
  for (const run of ['first', 'second'])
    t.match(await janitorOf().run({ dryRun: false }), { failures: 0, rowsMade: 0 }, run);
  const left: string[] = [];
  for await (const { key } of store.list('', never)) left.push(key);
  for await (const { key } of store.listOpenUploads(never)) left.push(key);
  t.strictSame(left, [], 'nothing is left');
}

t.test('on the file system', { timeout: 1_800_000 }, async (t) => {
  const root = await temporaryFolder(t);
  const store = await createFileSystemStore({ root });
  await fuzz(t, {
    store,
    replaces: () => true,
    async age(milliseconds) {
      const entries = await readdir(root, { recursive: true, withFileTypes: true });
      for (const entry of entries) {
        if (!entry.isFile()) continue;
        const path = join(entry.parentPath, entry.name);
        const then = new Date((await stat(path)).mtimeMs - milliseconds);
        await utimes(path, then, then);
      }
    },
  });
});

const isMultipart = ({ parts: [part] }: Planned): boolean => part?.url.includes('uploadId=') === true;

for (const [server, ignores] of Object.entries({
  'a server like S3': [],
  'a server that ignores conditions': ['if-none-match'],
}))
  t.test(`on ${server}`, { timeout: 1_800_000 }, async (t) => {
    const { store, stub } = await openStubStore(t, {
      stub: { minPartBytes: partBytes, md5Etags: true, ignores },
      partBytes,
      deploymentId: testDeployment,
    });
    await fuzz(t, { store, replaces: isMultipart, age: async (milliseconds) => stub.age(milliseconds) });
  });
