import { actAsUser } from '#auth/act-as-user.ts';
import type { HttpRequest } from '#server/http/http-types.ts';
import { recordFlags } from '../input/record-headers.ts';

/** Headers that identify the client and its request. */
export const identifyingHeaders: readonly string[] = [
  'authorization',
  'token',
  'structure',
  'options',
  actAsUser,
  'origin',
  ...Object.values(recordFlags).map(({ header }) => header),
];

/** The request of a long stream, which is checked again and again while it lasts. */
export class LiveRequest implements HttpRequest {
  readonly signal: AbortSignal;
  readonly needs: HttpRequest['needs'];
  readonly query: HttpRequest['query'];
  readonly #request: HttpRequest;
  readonly #sealed: Readonly<Record<string, string>> | undefined;
  readonly #onOver: (() => void)[] = [];

  /** @param args replace the request's properties @param args.headers of the request that made the address: all that count */
  constructor(
    request: HttpRequest,
    args: {
      readonly headers?: Readonly<Record<string, string>>;
      readonly query?: HttpRequest['query'];
      readonly needs?: HttpRequest['needs'];
      readonly signal?: AbortSignal;
    } = {},
  ) {
    this.#request = request;
    this.#sealed = args.headers;
    this.query = args.query ?? request.query;
    this.needs = args.needs ?? request.needs;
    this.signal = args.signal ?? request.signal;
  }

  get id() {
    return this.#request.id;
  }
  get method() {
    return this.#request.method;
  }
  get path() {
    return this.#request.path;
  }
  get params() {
    return this.#request.params;
  }
  get rawQuery() {
    return this.#request.rawQuery;
  }
  get address() {
    return this.#request.address;
  }
  get body() {
    return this.#request.body;
  }

  header(name: string): string | undefined {
    // the origin is the page that reads the answer; it can only narrow what a token may do
    return this.#sealed === undefined || name === 'origin' ? this.#request.header(name) : this.#sealed[name];
  }

  onOver(listener: () => void): void {
    this.#onOver.push(listener);
  }

  /** The request's work is done; other limits count its stream. */
  over(): void {
    for (const listener of this.#onOver.splice(0)) listener();
  }

  /** Equal for requests that get the same answer. */
  get identity(): string {
    const { project, space } = this.params;
    return JSON.stringify([project, space, ...identifyingHeaders.map((name) => this.header(name) ?? '')]);
  }
}
