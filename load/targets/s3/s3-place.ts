import type { TargetAddress } from '../target.ts';
import { S3Signature } from './s3-signature.ts';

/** Seconds. Runs are shorter. */
const lifetime = 24 * 3600;
const usualPart = 8 * 1024 * 1024;
/** The least that S3 takes, but for the last part. */
const leastPart = 5 * 1024 * 1024;

/** A bucket, by path-style addresses, and the keys of a load. */
export class S3Place {
  readonly bucket: string;
  /** Bytes. Larger files are sent in parts of this size. */
  readonly partBytes: number;
  readonly #host: string;
  readonly #base: string;
  readonly #signature: S3Signature;
  readonly #presigned: boolean;

  /** Throws a sentence for options that are wrong. */
  constructor({ url, credential, options }: TargetAddress) {
    const { host, pathname } = new URL(url);
    const at = credential?.indexOf(':') ?? -1;
    if (credential === null || at < 0)
      throw new Error('the target needs --token accessKeyId:secretAccessKey');
    const {
      bucket = 'sluice-load',
      region = 'us-east-1',
      part = `${usualPart}`,
      signed = 'header',
    } = options;
    if (!/^[a-z0-9][a-z0-9.-]{2,62}$/.test(bucket))
      throw new Error(`--option bucket=${bucket} is no name of a bucket`);
    this.partBytes = Number(part);
    if (!Number.isSafeInteger(this.partBytes) || this.partBytes < leastPart)
      throw new Error(`--option part=${part} must be a number of bytes from ${leastPart} up`);
    if (signed !== 'header' && signed !== 'presigned')
      throw new Error(`--option signed=${signed} must be header or presigned`);
    this.bucket = bucket;
    this.#host = host;
    this.#base = `${pathname.replace(/\/$/, '')}/${bucket}`;
    this.#presigned = signed === 'presigned';
    const [accessKeyId, secretAccessKey] = [credential.slice(0, at), credential.slice(at + 1)];
    this.#signature = new S3Signature({ accessKeyId, secretAccessKey, region });
  }

  /**
   * The beginning of a request.
   * @param key empty for the bucket itself
   * @returns method and target, and the fields of the signature, each with its line end
   */
  request(
    method: string,
    key: string,
    query: Readonly<Record<string, string>> = {},
  ): { request: string; fields: string } {
    if (this.#presigned) return { request: `${method} ${this.presigned(method, key, query)}`, fields: '' };
    const { target, fields } = this.#signature.sign({ ...this.#partsOf(method, key), query }, new Date());
    return { request: `${method} ${target}`, fields };
  }

  /** The target of a request that needs no keys. */
  presigned(method: string, key: string, query: Readonly<Record<string, string>> = {}): string {
    return this.#signature.presign({ ...this.#partsOf(method, key), query }, new Date(), lifetime);
  }

  #partsOf(method: string, key: string): { method: string; host: string; path: string } {
    return { method, host: this.#host, path: key === '' ? this.#base : `${this.#base}/${key}` };
  }
}
