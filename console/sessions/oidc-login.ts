import { timingSafeEqual } from 'node:crypto';
import { type OidcChecks, type OidcClaims, type OidcClients, OidcFailure } from '#auth/oidc-clients.ts';
import type { SealedTexts } from '#auth/sealed-texts.ts';
import type { SingleUses } from '#auth/single-uses.ts';
import type { OidcConfig } from '#kernel/config/read-config.ts';
import { unauthorized, unavailable } from '#kernel/errors/catalogue.ts';
import type { Log } from '#kernel/log/log.ts';
import type { HostCookie } from '#server/http/host-cookie.ts';
import type { HttpRequest } from '#server/http/http-types.ts';

export const oidcStart = '/_console_/api/oidc/start';
export const oidcCallback = '/_console_/api/oidc/callback';
/** Milliseconds to log in at the provider. */
export const oidcLifetime = 600_000;
const purpose = 'sluice console oidc 1';
const scopes = ['openid', 'email', 'profile'];
/** Requests to the provider share it, as there is one for all. */
const account = 'console';

interface Login extends OidcChecks {
  readonly until: number;
}

interface OidcLoginParts {
  readonly config: OidcConfig;
  readonly clients: OidcClients;
  readonly sealed: SealedTexts;
  readonly uses: SingleUses;
  readonly cookie: HostCookie;
  /** Of this process, for browsers, without trailing slash. */
  readonly baseUrl: () => string;
  readonly log: Pick<Log, 'warn'>;
  readonly now: () => number;
}

/** Logins to the dashboard by OpenID Connect. All of their state is in a sealed cookie of the browser. */
export class OidcLogin {
  readonly #parts: OidcLoginParts;

  constructor(parts: OidcLoginParts) {
    this.#parts = parts;
  }

  /** For the text of a button. */
  get host(): string {
    return new URL(this.#parts.config.issuer).host;
  }

  /** Where the browser logs in, and the cookie for it. */
  async begin(request: HttpRequest): Promise<{ readonly location: string; readonly cookie: string }> {
    const { clients, sealed, cookie, now, log } = this.#parts;
    const args = { account, callback: this.#callback() };
    const begun = await clients.begin(this.#provider(), args, request.signal).catch((error: unknown) => {
      if (!(error instanceof OidcFailure)) throw error;
      log.warn({ err: error.message }, 'a login to the dashboard can not begin');
      throw unavailable('The provider of the login does not answer as it should', error);
    });
    const login: Login = { ...begun.checks, until: now() + oidcLifetime };
    const text = await sealed.seal(JSON.stringify(login), purpose);
    return { location: begun.address, cookie: cookie.set(request, text) };
  }

  /** Who came back. Throws an OidcFailure, and 401 unless this browser began the login, and did not finish it. */
  async finish(request: HttpRequest): Promise<OidcClaims> {
    const { clients, sealed, cookie, now, uses } = this.#parts;
    const opened = await sealed.open(cookie.read(request) ?? '', purpose);
    const login = opened === null ? null : (JSON.parse(opened) as Login);
    const states = request.query.filter(([name]) => name === 'state');
    const isOurs =
      login !== null &&
      login.until >= now() &&
      states.length === 1 &&
      isEqual(states[0]?.[1] ?? '', login.state) &&
      (await uses.take(login.state, oidcLifetime));
    if (!isOurs) throw unauthorized('This browser did not begin the login, or began it too long ago');
    const args = { account, callback: this.#callback(), query: request.rawQuery, checks: login };
    try {
      return await clients.finish(this.#provider(), args, request.signal);
    } catch (error) {
      this.#parts.log.warn({ err: (error as Error).message }, 'a login to the dashboard failed');
      throw error;
    }
  }

  #provider() {
    return { ...this.#parts.config, scopes };
  }

  #callback(): string {
    return this.#parts.baseUrl() + oidcCallback;
  }
}

function isEqual(one: string, other: string): boolean {
  const [left, right] = [Buffer.from(one), Buffer.from(other)];
  return left.byteLength === right.byteLength && timingSafeEqual(left, right);
}
