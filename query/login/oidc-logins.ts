import { createHash, randomUUID } from 'node:crypto';
import { equalSecrets } from '#auth/equal-secrets.ts';
import type { OidcChecks, OidcClients } from '#auth/oidc-clients.ts';
import { OidcFailure } from '#auth/oidc-clients.ts';
import type { EndingValue, SealedTexts } from '#auth/sealed-texts.ts';
import type { SingleUses } from '#auth/single-uses.ts';
import { invalidBody, notAllowed, unauthorized, unavailable } from '#kernel/errors/catalogue.ts';
import type { Log } from '#kernel/log/log.ts';
import type { RecordSpace } from '#records/structure/record-space.ts';
import { isObject } from '#records/types/is-object.ts';
import type { HostCookie } from '#server/http/host-cookie.ts';
import type { HttpRequest, HttpResponse } from '#server/http/http-types.ts';
import type { TableCatalogue } from '../space/table-catalogue.ts';
import type { OidcLoginSettings, OidcSettingsTable } from './oidc-settings.ts';

export const startPath = '/_oidc_/start';
export const callbackPath = '/_oidc_/callback';
/** Milliseconds: from the page to the provider, to log in there, and from the callback to the page. */
const lifetimes = { start: 60_000, login: 600_000, code: 60_000 } as const;
export const loginLifetime = lifetimes.login;
/** Browsers and proxies take addresses and cookies of this length. */
const longestSealed = 4000;
const purposes = {
  start: 'sluice oidc start 1',
  login: 'sluice oidc login 1',
  code: 'sluice oidc code 1',
} as const;

/** Versions of processes read each other's, so the keys stay as they are. */
interface Login extends OidcChecks {
  readonly spaceId: string;
  readonly ownerId: string;
  readonly returnTo: string;
  /** SHA-256 of the page's verifier, base64url. */
  readonly challenge: string;
  /** Milliseconds since 1970. */
  readonly until: number;
}

interface Start {
  readonly address: string;
  readonly login: string;
  readonly until: number;
}

/** What the callback found out about a user. */
export interface OidcCode {
  readonly id: string;
  readonly spaceId: string;
  readonly ownerId: string;
  readonly projectSlug: string;
  readonly slug: string;
  readonly challenge: string;
  /** The claim that names the user. */
  readonly value: string;
  readonly until: number;
}

interface OidcLoginsParts {
  readonly catalogue: Pick<TableCatalogue, 'find'>;
  readonly settings: OidcSettingsTable;
  readonly clients: OidcClients;
  readonly sealed: SealedTexts;
  readonly uses: SingleUses;
  readonly cookie: HostCookie;
  /** Of this server, for browsers, without trailing slash. */
  readonly baseUrl: () => string;
  readonly now: () => number;
  readonly log: Pick<Log, 'warn'>;
}

/** Logins of an application's users by OpenID Connect, step by step (docs/decisions/078-openid-connect.md). */
export class OidcLogins {
  readonly #parts: OidcLoginsParts;

  constructor(parts: OidcLoginsParts) {
    this.#parts = parts;
  }

  /**
   * The address that a page opens to log a user in. Throws 403 without settings, or for an address that they do not list.
   */
  async start(
    space: RecordSpace,
    body: unknown,
    signal: AbortSignal,
  ): Promise<{ readonly url: string; readonly expiresAt: Date }> {
    const { returnTo, challenge } = readStart(body);
    const { clients, sealed, now, log } = this.#parts;
    const { ownerId, catalogueId: spaceId } = space;
    const { settings } = await this.#settingsOf(spaceId, signal);
    if (settings === null) throw notAllowed('The record space has no login by OpenID Connect');
    if (!settings.returnTo.includes(returnTo))
      throw notAllowed('A login may not return to this address: returnTo of the settings does not list it');
    const begun = await clients
      .begin(settings, { account: ownerId, callback: this.#callback() }, signal)
      .catch((error: unknown) => {
        if (!(error instanceof OidcFailure)) throw error;
        log.warn({ err: error.message, space: spaceId }, 'a login by OpenID Connect can not begin');
        throw unavailable('The provider of the login does not answer as it should', error);
      });
    const login: Login = {
      ...begun.checks,
      spaceId,
      ownerId,
      returnTo,
      challenge,
      until: now() + lifetimes.login,
    };
    const expiresAt = new Date(now() + lifetimes.start);
    const start: Start = {
      address: begun.address,
      login: await sealed.sealValue(login, purposes.login),
      until: expiresAt.getTime(),
    };
    const key = await sealed.sealValue(start, purposes.start);
    if (start.login.length > longestSealed || key.length > 2 * longestSealed)
      throw invalidBody('The addresses of the login are too long');
    return { url: `${this.#parts.baseUrl()}${startPath}?key=${key}`, expiresAt };
  }

  /** GET /_oidc_/start: sends the browser to the provider. */
  async open(request: HttpRequest): Promise<HttpResponse> {
    const key = request.query.find(([name]) => name === 'key')?.[1] ?? '';
    const start = await this.#opened<Start>(key, 'start');
    if (start === null) throw unauthorized('The address is invalid or has expired: begin the login again');
    return redirect(start.address, this.#parts.cookie.set(request, start.login));
  }

  /** GET /_oidc_/callback: sends the browser back to the page, with a code or a problem in the fragment. */
  async callback(request: HttpRequest): Promise<HttpResponse> {
    const { uses, cookie, log } = this.#parts;
    const login = await this.#opened<Login>(cookie.read(request) ?? '', 'login');
    const state = request.query.filter(([name]) => name === 'state');
    // the cookie is the browser's: another one's login ends here
    if (login === null || state.length !== 1 || !equalSecrets(state[0]?.[1] ?? '', login.state))
      throw unauthorized('This browser did not begin the login, or began it too long ago: begin it again');
    if (!(await uses.take(login.state, lifetimes.login)))
      throw unauthorized('The login was finished before: begin it again');
    const back = (name: string, value: string): HttpResponse =>
      // as a header may have it: without the characters that addresses may be written with
      redirect(`${new URL(login.returnTo).href}#${name}=${value}`, cookie.clear(request));
    try {
      return back('oidc_code', await this.#finish(login, request));
    } catch (error) {
      if (!(error instanceof OidcFailure)) throw error;
      log.warn({ err: error.message, space: login.spaceId }, 'a login by OpenID Connect failed');
      return back('oidc_error', error.problem);
    }
  }

  /** What a code says, before it is used. Throws 401 for an invalid one. */
  async read(ownerId: string, projectSlug: string, body: unknown): Promise<OidcCode> {
    const { code: sealed, verifier } = isObject(body) ? body : {};
    if (typeof sealed !== 'string' || typeof verifier !== 'string')
      throw invalidBody('The body should have code, of the address, and verifier, of the page');
    const code = await this.#opened<OidcCode>(sealed, 'code');
    const isOurs = code !== null && code.ownerId === ownerId && code.projectSlug === projectSlug;
    if (!isOurs || !equalSecrets(sha256(verifier), code.challenge)) throw badCode();
    return code;
  }

  /** Throws 401 if the code was used before. @returns the settings of now */
  async use(code: OidcCode, signal: AbortSignal): Promise<OidcLoginSettings> {
    if (!(await this.#parts.uses.take(code.id, lifetimes.code))) throw badCode();
    const { settings } = await this.#settingsOf(code.spaceId, signal);
    if (settings === null) throw badCode();
    return settings;
  }

  async #finish(login: Login, { rawQuery, signal }: HttpRequest): Promise<string> {
    const { clients, sealed, now } = this.#parts;
    const { spaceId, ownerId, challenge } = login;
    const { settings, entry } = await this.#settingsOf(spaceId, signal);
    if (settings === null || entry === null)
      throw new OidcFailure('login_failed', new Error('the settings are gone'));
    const args = { account: ownerId, callback: this.#callback(), query: rawQuery, checks: login };
    const claims = await clients.finish(settings, args, signal);
    const value = settings.claim === 'sub' ? claims.sub : claims.email;
    if (value === undefined)
      throw new OidcFailure('email_not_verified', new Error('the provider has no verified email'));
    const { projectSlug, slug } = entry.structure;
    const until = now() + lifetimes.code;
    const code: OidcCode = { id: randomUUID(), spaceId, ownerId, projectSlug, slug, challenge, value, until };
    return sealed.sealValue(code, purposes.code);
  }

  async #settingsOf(spaceId: string, signal: AbortSignal) {
    const { catalogue, settings } = this.#parts;
    const entry = await catalogue.find(spaceId, signal);
    return { entry, settings: entry && (await settings.find(entry, signal)) };
  }

  #callback(): string {
    return this.#parts.baseUrl() + callbackPath;
  }

  async #opened<Sealed extends EndingValue>(
    text: string,
    purpose: keyof typeof purposes,
  ): Promise<Sealed | null> {
    if (text.length > 2 * longestSealed) return null;
    const { sealed, now } = this.#parts;
    return sealed.openValue<Sealed>(text, purposes[purpose], now());
  }
}

function readStart(body: unknown): { readonly returnTo: string; readonly challenge: string } {
  const { returnTo, challenge } = isObject(body) ? body : {};
  if (typeof returnTo !== 'string') throw invalidBody('returnTo should be an address that the settings list');
  if (typeof challenge !== 'string' || !/^[A-Za-z0-9_-]{43}$/.test(challenge))
    throw invalidBody('challenge should be the SHA-256 of a random verifier, as base64url');
  return { returnTo, challenge };
}

function redirect(location: string, cookie: string): HttpResponse {
  return {
    status: 302,
    headers: {
      location,
      'set-cookie': cookie,
      'cache-control': 'no-store',
      'referrer-policy': 'no-referrer',
    },
  };
}

/** One answer, whatever is wrong. */
function badCode(): Error {
  return unauthorized('The code is invalid, was used, or has expired: begin the login again');
}

function sha256(text: string): string {
  return createHash('sha256').update(text).digest('base64url');
}
