import { filePrefix } from '../../files/file-session.ts';
import type { Answer } from '../../http/answer.ts';
import { ConnectionPool } from '../../http/connection-pool.ts';
import { within } from '../../http/within.ts';
import { inLanes } from '../../verify/in-lanes.ts';
import type { Preparation } from '../target.ts';
import { S3Place } from './s3-place.ts';

/** Milliseconds that one request may take. */
const requestTimeout = 60_000;
const answerLimit = 4 * 1024 * 1024;
/** Objects that are removed at once. */
const atOnce = 8;

/** What is done with the bucket before a load and after it. Close it. */
export class BucketCalls {
  readonly #work: Preparation;
  readonly #place: S3Place;
  readonly #pool: ConnectionPool;

  constructor(work: Preparation) {
    this.#work = work;
    this.#place = new S3Place(work.address);
    this.#pool = new ConnectionPool(work.address.url);
  }

  /** Makes the bucket if there is none. */
  async make(): Promise<void> {
    const { bucket } = this.#place;
    const found = await this.#send('HEAD', '');
    if (found.status === 200) return;
    if (found.status !== 404)
      throw new Error(`the bucket ${bucket} can't be used: the server answered ${found.status}`);
    const made = await this.#send('PUT', '');
    if (made.status !== 200) throw refused(`the bucket ${bucket} can't be made`, made);
    this.#work.progress(`the bucket ${bucket} is made`);
  }

  /** Removes the files that loads have stored, and what is left of uploads that were cut off. */
  async removeFiles(): Promise<void> {
    if ((await this.#send('HEAD', '')).status === 404) return;
    let removed = 0;
    for (let keys = await this.#list(); keys.length > 0; keys = await this.#list()) {
      await inLanes(keys, atOnce, (key) => this.#remove(key));
      removed += keys.length;
      this.#work.progress(`${removed} files are removed`);
    }
    const uploads = await this.#send('GET', '', { uploads: '', prefix: filePrefix });
    if (uploads.status !== 200) throw refused('uploads are not listed', uploads);
    const open = [...uploads.body.toString().matchAll(/<Upload>[\s\S]*?<\/Upload>/g)].map(([text]) => text);
    await inLanes(open, atOnce, (text) =>
      this.#remove(element(text, 'Key'), { uploadId: element(text, 'UploadId') }),
    );
  }

  close(): void {
    this.#pool.close();
  }

  /** Up to a thousand. */
  async #list(): Promise<string[]> {
    const answer = await this.#send('GET', '', { 'list-type': '2', prefix: filePrefix });
    if (answer.status !== 200) throw refused('files are not listed', answer);
    return [...answer.body.toString().matchAll(/<Key>([^<]+)<\/Key>/g)].map(([, key]) => key as string);
  }

  async #remove(key: string, query: Readonly<Record<string, string>> = {}): Promise<void> {
    const answer = await this.#send('DELETE', key, query);
    if (answer.status >= 300 && answer.status !== 404) throw refused(`${key} is not removed`, answer);
  }

  #send(method: string, key: string, query: Readonly<Record<string, string>> = {}): Promise<Answer> {
    const { request, fields } = this.#place.request(method, key, query);
    const host = new URL(this.#work.address.url).host;
    const length = method === 'PUT' ? 'Content-Length: 0\r\n' : '';
    const head = `${request} HTTP/1.1\r\nHost: ${host}\r\n${fields}${length}\r\n`;
    return within(this.#work.signal, requestTimeout, (signal) =>
      this.#pool.send(head, undefined, { keep: answerLimit, signal }),
    );
  }
}

function element(xml: string, name: string): string {
  return new RegExp(`<${name}>([^<]*)</${name}>`).exec(xml)?.[1] ?? '';
}

function refused(what: string, { status, body }: Answer): Error {
  return new Error(`${what}: the server answered ${status} ${element(body.toString(), 'Code')}`);
}
