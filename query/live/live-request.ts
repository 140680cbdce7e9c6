import type { HttpRequest } from '#server/http/http-types.ts';
import { recordFlags } from '../input/record-headers.ts';
import { actAsUser } from '../space/open-space.ts';

/** Headers of a request that say who asks, and for what. */
export const telling: readonly string[] = [
  ...['authorization', 'token', 'structure', 'options', actAsUser, 'origin'],
  ...Object.values(recordFlags).map(({ header }) => header),
];

/** The request of a long stream, for the checks that are made again while it lasts. */
export class LiveRequest implements HttpRequest {
  readonly signal: AbortSignal;
  readonly needs: HttpRequest['needs'];
  readonly query: HttpRequest['query'];
  readonly #given: HttpRequest;
  readonly #sealed: Readonly<Record<string, string>> | undefined;
  readonly #onOver: (() => void)[] = [];

  /** @param args what replaces the request's own @param args.headers of the request that made its address: all that it has */
  constructor(
    given: HttpRequest,
    args: {
      readonly headers?: Readonly<Record<string, string>>;
      readonly query?: HttpRequest['query'];
      readonly needs?: HttpRequest['needs'];
      readonly signal?: AbortSignal;
    } = {},
  ) {
    this.#given = given;
    this.#sealed = args.headers;
    this.query = args.query ?? given.query;
    this.needs = args.needs ?? given.needs;
    this.signal = args.signal ?? given.signal;
  }

  get id() {
    return this.#given.id;
  }
  get method() {
    return this.#given.method;
  }
  get path() {
    return this.#given.path;
  }
  get params() {
    return this.#given.params;
  }
  get rawQuery() {
    return this.#given.rawQuery;
  }
  get address() {
    return this.#given.address;
  }
  get body() {
    return this.#given.body;
  }

  header(name: string): string | undefined {
    // an origin names the page that reads the answer, and can only narrow what a token may do
    return this.#sealed === undefined || name === 'origin' ? this.#given.header(name) : this.#sealed[name];
  }

  onOver(listener: () => void): void {
    this.#onOver.push(listener);
  }

  /** The work for it is done, but for its stream, which other limits count. */
  over(): void {
    for (const listener of this.#onOver.splice(0)) listener();
  }

  /** Equal for requests that are answered alike. */
  get who(): string {
    const { project, space } = this.params;
    return JSON.stringify([project, space, ...telling.map((name) => this.header(name) ?? '')]);
  }
}
