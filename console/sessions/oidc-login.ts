import { equalSecrets } from '#auth/equal-secrets.ts';
import { type OidcChecks, type OidcClaims, type OidcClients, OidcFailure } from '#auth/oidc-clients.ts';
import type { EndingValue, SealedTexts } from '#auth/sealed-texts.ts';
import type { SingleUses } from '#auth/single-uses.ts';
import type { OidcConfig } from '#kernel/config/read-config.ts';
import { unauthorized, unavailable } from '#kernel/errors/catalogue.ts';
import type { Log } from '#kernel/log/log.ts';
import type { HostCookie } from '#server/http/host-cookie.ts';
import type { HttpRequest } from '#server/http/http-types.ts';
import { type LoginProofs, proofLifetime } from './login-proofs.ts';
import type { OpenSession } from './sessions.ts';

export const oidcStart = '/_console_/api/oidc/start';
export const oidcConfirm = '/_console_/api/oidc/confirm';
export const oidcCallback = '/_console_/api/oidc/callback';
/** Milliseconds to log in at the provider. */
export const oidcLifetime = 600_000;
const purpose = 'sluice console oidc 1';
const scopes = ['openid', 'email', 'profile'];
/** Requests to the provider share it, as there is one for all. */
const account = 'console';

/** Most seconds since the user logged in at the provider, for a proof. */
const freshFor = proofLifetime / 1000;

interface Login extends OidcChecks, EndingValue {
  /** The session whose user the login confirms, as its hash. Absent: it begins a session. */
  readonly confirms?: string;
}

interface OidcLoginParts {
  readonly config: OidcConfig;
  readonly clients: OidcClients;
  readonly sealed: SealedTexts;
  readonly uses: SingleUses;
  readonly proofs: LoginProofs;
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

  get proofs(): LoginProofs {
    return this.#parts.proofs;
  }

  /**
   * Where the browser logs in, and the cookie for it.
   * @param confirms the session whose user it confirms; null: it begins one
   */
  async begin(
    request: HttpRequest,
    confirms: Pick<OpenSession, 'session'> | null,
  ): Promise<{ readonly location: string; readonly cookie: string }> {
    const { clients, sealed, cookie, now, log } = this.#parts;
    const args = { account, callback: this.#callback(), maxAge: confirms === null ? undefined : freshFor };
    const begun = await clients.begin(this.#provider(), args, request.signal).catch((error: unknown) => {
      if (!(error instanceof OidcFailure)) throw error;
      log.warn({ err: error.message }, 'a login to the dashboard can not begin');
      throw unavailable('The provider of the login does not answer as it should', error);
    });
    const until = now() + oidcLifetime;
    const login: Login = { ...begun.checks, until, ...(confirms && { confirms: confirms.session.hash }) };
    const text = await sealed.sealValue(login, purpose);
    return { location: begun.address, cookie: cookie.set(request, text) };
  }

  /** The login that came back. Throws 401 unless this browser began it, and did not finish it. */
  async returned(request: HttpRequest): Promise<Login> {
    const { sealed, cookie, now, uses } = this.#parts;
    const login = await sealed.openValue<Login>(cookie.read(request) ?? '', purpose, now());
    const states = request.query.filter(([name]) => name === 'state');
    const isOurs =
      login !== null &&
      states.length === 1 &&
      equalSecrets(states[0]?.[1] ?? '', login.state) &&
      (await uses.take(login.state, oidcLifetime));
    if (!isOurs) throw unauthorized('This browser did not begin the login, or began it too long ago');
    return login;
  }

  /** Who logged in. Throws an OidcFailure, also when a login that confirms was not made just now. */
  async finish(request: HttpRequest, login: Login): Promise<OidcClaims> {
    const maxAge = login.confirms === undefined ? undefined : freshFor;
    const args = { account, callback: this.#callback(), query: request.rawQuery, checks: login, maxAge };
    try {
      return await this.#parts.clients.finish(this.#provider(), args, request.signal);
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
