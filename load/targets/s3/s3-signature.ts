import { createHash, createHmac } from 'node:crypto';

const algorithm = 'AWS4-HMAC-SHA256';
const unsignedPayload = 'UNSIGNED-PAYLOAD';
const presignedHeaders = 'host';
const signedHeaders = 'host;x-amz-content-sha256;x-amz-date';

export interface S3Keys {
  readonly accessKeyId: string;
  readonly secretAccessKey: string;
  readonly region: string;
}

/** What is signed of a request. */
export interface SignedParts {
  readonly method: string;
  /** Of the Host field. */
  readonly host: string;
  /** Escaped: the bucket and the key. */
  readonly path: string;
  /** Unescaped. */
  readonly query?: Readonly<Record<string, string>>;
}

/**
 * Signature Version 4 of requests to S3 (https://docs.aws.amazon.com/IAM/latest/UserGuide/reference_sigv-create-signed-request.html),
 * without a hash of the body: it would cost the tool more than sending it.
 */
export class S3Signature {
  readonly #keys: S3Keys;
  /** It holds for a day. */
  #signingKey: Buffer = Buffer.alloc(0);
  #day = '';

  constructor(keys: S3Keys) {
    this.#keys = keys;
  }

  /** @returns the target of the request, and its fields besides Host, each with its line end */
  sign(parts: SignedParts, now: Date): { readonly target: string; readonly fields: string } {
    const { method, host, path, query = {} } = parts;
    const time = timeOf(now);
    const scope = this.#scopeOf(time);
    const text = queryText(query);
    const own = `host:${host}\nx-amz-content-sha256:${unsignedPayload}\nx-amz-date:${time}\n`;
    const canonical = `${method}\n${path}\n${text}\n${own}\n${signedHeaders}\n${unsignedPayload}`;
    const signature = this.#signatureOf(time, scope, canonical);
    const credential = `${this.#keys.accessKeyId}/${scope}`;
    return {
      target: text === '' ? path : `${path}?${text}`,
      fields:
        `X-Amz-Content-Sha256: ${unsignedPayload}\r\nX-Amz-Date: ${time}\r\n` +
        `Authorization: ${algorithm} Credential=${credential}, SignedHeaders=${signedHeaders}, Signature=${signature}\r\n`,
    };
  }

  /**
   * @param lifetime in seconds
   * @returns the target of the request: whoever has it needs no keys
   */
  presign(parts: SignedParts, now: Date, lifetime: number): string {
    const { method, host, path, query = {} } = parts;
    const time = timeOf(now);
    const scope = this.#scopeOf(time);
    const text = queryText({
      ...query,
      'X-Amz-Algorithm': algorithm,
      'X-Amz-Credential': `${this.#keys.accessKeyId}/${scope}`,
      'X-Amz-Date': time,
      'X-Amz-Expires': `${lifetime}`,
      'X-Amz-SignedHeaders': presignedHeaders,
    });
    const canonical = `${method}\n${path}\n${text}\nhost:${host}\n\n${presignedHeaders}\n${unsignedPayload}`;
    return `${path}?${text}&X-Amz-Signature=${this.#signatureOf(time, scope, canonical)}`;
  }

  #scopeOf(time: string): string {
    const day = time.slice(0, 8);
    const { region, secretAccessKey } = this.#keys;
    if (day !== this.#day) {
      this.#signingKey = [day, region, 's3', 'aws4_request'].reduce(
        hmac,
        Buffer.from(`AWS4${secretAccessKey}`),
      );
      this.#day = day;
    }
    return `${day}/${region}/s3/aws4_request`;
  }

  #signatureOf(time: string, scope: string, canonical: string): string {
    const digest = createHash('sha256').update(canonical).digest('hex');
    return hmac(this.#signingKey, `${algorithm}\n${time}\n${scope}\n${digest}`).toString('hex');
  }
}

function hmac(key: Buffer, text: string): Buffer {
  return createHmac('sha256', key).update(text).digest();
}

function timeOf(now: Date): string {
  return now.toISOString().replace(/[-:]|\.\d{3}/g, '');
}

/** In the order that the signature takes. */
function queryText(query: Readonly<Record<string, string>>): string {
  const names = Object.keys(query).sort();
  return names.map((name) => `${escaped(name)}=${escaped(query[name] as string)}`).join('&');
}

function escaped(text: string): string {
  return encodeURIComponent(text).replace(
    /[!'()*]/g,
    (letter) => `%${letter.charCodeAt(0).toString(16).toUpperCase()}`,
  );
}
