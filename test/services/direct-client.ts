import { randomUUID } from 'node:crypto';

/** A part with its address, as a plan has it. */
export interface PlannedPart {
  readonly number: number;
  readonly offset: number;
  readonly size: number;
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
}

export interface Planned {
  readonly id: string;
  readonly location: string;
  readonly size: number;
  readonly partBytes: number;
  readonly partCount: number;
  readonly parts: readonly PlannedPart[];
}

export interface SentPart {
  readonly number: number;
  readonly etag: string;
}

export interface DirectAnswer {
  readonly status: number;
  readonly headers: Headers;
  // biome-ignore lint/suspicious/noExplicitAny: tests compare it with a pattern
  readonly body: any;
}

/** A client of direct uploads to the project `demo`, which does as it is told. */
export class DirectClient {
  readonly #baseUrl: string;
  readonly #headers: Readonly<Record<string, string>>;

  /** @param headers of each request, such as a token */
  constructor(baseUrl: string, headers: Readonly<Record<string, string>> = {}) {
    this.#baseUrl = baseUrl;
    this.#headers = headers;
  }

  /** The same client with other headers. */
  as(headers: Readonly<Record<string, string>>): DirectClient {
    return new DirectClient(this.#baseUrl, headers);
  }

  /** The same client at another gateway. */
  at(baseUrl: string): DirectClient {
    return new DirectClient(baseUrl, this.#headers);
  }

  async ask(method: string, path: string, body?: unknown): Promise<DirectAnswer> {
    const response = await fetch(this.#baseUrl + path, {
      method,
      headers: { ...this.#headers, ...(body === undefined ? {} : { 'content-type': 'application/json' }) },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
    const text = await response.text();
    const { status, headers } = response;
    return { status, headers, body: text === '' ? null : JSON.parse(text) };
  }

  /** Throws unless it is planned. */
  async plan(wanted: object): Promise<Planned> {
    const { status, body } = await this.ask('POST', '/_f_/demo/direct', { name: randomUUID(), ...wanted });
    if (status !== 201) throw new Error(`no plan: ${status} ${JSON.stringify(body)}`);
    return body;
  }

  /** Sends a part. @returns the answer of the store, with its text read */
  async put(
    { url, headers }: Pick<PlannedPart, 'url' | 'headers'>,
    bytes: Uint8Array,
  ): Promise<{ status: number; etag: string; text: string }> {
    const response = await fetch(url, { method: 'PUT', body: Buffer.from(bytes), headers });
    return { status: response.status, etag: response.headers.get('etag') ?? '', text: await response.text() };
  }

  /** Sends all parts. Throws unless the store takes them. */
  async send({ parts }: Pick<Planned, 'parts'>, bytes: Uint8Array): Promise<SentPart[]> {
    const sent: SentPart[] = [];
    for (const part of parts) {
      const { offset, size, number } = part;
      const { status, etag, text } = await this.put(part, bytes.subarray(offset, offset + size));
      if (status !== 200) throw new Error(`part ${number}: ${status} ${text}`);
      sent.push({ number, etag });
    }
    return sent;
  }

  complete({ location }: Pick<Planned, 'location'>, parts?: readonly SentPart[]): Promise<DirectAnswer> {
    const [path, query] = location.split('?');
    const address = `${path}/complete${query === undefined ? '' : `?${query}`}`;
    return this.ask('POST', address, parts && { parts });
  }

  state({ location }: Pick<Planned, 'location'>): Promise<DirectAnswer> {
    return this.ask('GET', location);
  }

  drop({ location }: Pick<Planned, 'location'>): Promise<DirectAnswer> {
    return this.ask('DELETE', location);
  }

  /** The bytes of a file; null: there is none. */
  async bytesOf(id: string): Promise<Buffer | null> {
    const response = await fetch(`${this.#baseUrl}/_f_/demo/${id}`, { headers: this.#headers });
    const bytes = Buffer.from(await response.arrayBuffer());
    if (response.status === 404) return null;
    if (response.status !== 200) throw new Error(`${response.status} ${bytes}`);
    return bytes;
  }

  /** Deletes a file. @returns the status */
  async delete(id: string): Promise<number> {
    return (await this.ask('DELETE', `/_f_/demo/${id}`)).status;
  }
}
