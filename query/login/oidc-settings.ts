import type { OidcProvider } from '#auth/oidc-clients.ts';
import type { SealedTexts } from '#auth/sealed-texts.ts';
import type { Database } from '#engine/database.ts';
import { textLiteral } from '#engine/literal.ts';
import { invalidRules } from '#kernel/errors/catalogue.ts';
import { rowLine, timestampText } from '#kernel/ids/row-values.ts';
import type { Field } from '#records/structure/field.ts';
import type { Structure } from '#records/structure/structure.ts';
import { typeCan } from '#records/types/field-types.ts';
import { isObject } from '#records/types/is-object.ts';
import type { CatalogueEntry } from '../space/catalogue-entry.ts';

/** The claims that can name a user. */
export const oidcClaims = ['email', 'sub'] as const;

/** How users of a record space log in by OpenID Connect, without the secret. */
export interface OidcSettings extends Omit<OidcProvider, 'clientSecret'> {
  /** The slug of the unique field that has the claim. */
  readonly field: string;
  readonly claim: (typeof oidcClaims)[number];
  /** Whether a user without a record gets one. */
  readonly signUp: boolean;
  /** Whole addresses of pages to which a login returns. */
  readonly returnTo: readonly string[];
}

/** The settings with the secret. */
export type OidcLoginSettings = OidcSettings & OidcProvider;

interface Stored extends OidcSettings {
  /** The secret, sealed. */
  readonly sealed: string;
}

interface Row {
  readonly settings: string;
  readonly made: number;
  readonly version: number;
}

type Place = Pick<CatalogueEntry, 'id' | 'createdAt' | 'structure'>;

const columns = ['space_id', 'made', 'settings', 'version'];
const longest = { address: 500, name: 500, secret: 1000 } as const;
const mostAddresses = 20;
const mostScopes = 20;
const keys = ['issuer', 'clientId', 'clientSecret', 'scopes', 'field', 'claim', 'signUp', 'returnTo'];

/** The settings of record spaces, in a table of their own. */
export class OidcSettingsTable {
  readonly #db: Database;
  readonly #table: string;
  readonly #sealed: SealedTexts;

  constructor(args: { readonly db: Database; readonly database: string; readonly sealed: SealedTexts }) {
    this.#db = args.db;
    this.#table = `${args.database}.oidc_settings`;
    this.#sealed = args.sealed;
  }

  /** Null: none. */
  async find({ id, createdAt }: Place, signal: AbortSignal): Promise<OidcLoginSettings | null> {
    const row = await this.#newest(id, signal);
    // a space that was dropped and made again is another one
    if (row === undefined || row.settings === '' || row.made !== createdAt.getTime()) return null;
    const { sealed, ...settings } = JSON.parse(row.settings) as Stored;
    const clientSecret = await this.#sealed.open(sealed, purposeOf(id));
    return clientSecret === null ? null : { ...settings, clientSecret };
  }

  /** Throws a 400 that lists every problem. @param input null: removes them */
  async set(space: Place, input: unknown, signal: AbortSignal): Promise<OidcSettings | null> {
    const { id, createdAt } = space;
    const before = await this.#newest(id, signal);
    let text = '';
    let settings: OidcSettings | null = null;
    if (input !== null) {
      const known = await this.find(space, signal);
      const { clientSecret, ...read } = readSettings(input, space.structure, known);
      settings = read;
      const stored: Stored = { ...read, sealed: await this.#sealed.seal(clientSecret, purposeOf(id)) };
      text = JSON.stringify(stored);
    }
    const version = Math.max(Date.now(), (before?.version ?? 0) + 1);
    const lines = rowLine([id, timestampText(createdAt), text, version]);
    await this.#db.insert({ table: this.#table, columns, lines, signal });
    return settings;
  }

  /** Removes the settings of spaces that never come back. */
  async remove(ids: readonly string[], signal: AbortSignal): Promise<void> {
    if (ids.length === 0) return;
    const where = `space_id IN (${ids.map(textLiteral).join(', ')})`;
    await this.#db.command({ sql: `DELETE FROM ${this.#table} WHERE ${where}`, signal });
  }

  async #newest(id: string, signal: AbortSignal): Promise<Row | undefined> {
    const sql = `SELECT settings, toFloat64(toUnixTimestamp64Milli(made)) AS made, toFloat64(version) AS version
      FROM ${this.#table} WHERE space_id = ${textLiteral(id)} ORDER BY oidc_settings.version DESC LIMIT 1`;
    return (await this.#db.rows<Row>({ sql, signal }))[0];
  }
}

/** A secret that is moved to the row of another space opens nothing. */
function purposeOf(id: string): string {
  return `sluice oidc secret 1 ${id}`;
}

/** @param known the settings before: their secret stays if it is left out, and the provider is the same */
function readSettings(
  input: unknown,
  structure: Structure,
  known: OidcLoginSettings | null,
): OidcLoginSettings {
  if (!isObject(input)) throw invalidRules(['They should be a JSON object, or null'], refusal);
  const problems = Object.keys(input).flatMap((key) =>
    keys.includes(key) ? [] : [`There is no ${JSON.stringify(key)}, only ${keys.join(', ')}`],
  );
  const { issuer, clientId, scopes = ['openid', 'email'], claim = 'email', signUp = false, returnTo } = input;
  const { field = claim } = input;
  if (!isIssuer(issuer))
    problems.push('issuer should be an https address without a query (http only for this machine)');
  if (!isText(clientId, longest.name))
    problems.push('clientId should be the name of this client at the issuer');
  const isSame = known !== null && known.issuer === issuer && known.clientId === clientId;
  const clientSecret = input.clientSecret ?? (isSame ? known.clientSecret : undefined);
  if (!isText(clientSecret, longest.secret))
    problems.push('clientSecret should be the secret of this client; it stays if issuer and clientId do');
  if (
    !isListOf(scopes, mostScopes, (one) => /^[\x21\x23-\x5b\x5d-\x7e]{1,100}$/.test(one)) ||
    !scopes.includes('openid')
  )
    problems.push('scopes should be an array of scopes with openid');
  if (!(oidcClaims as readonly unknown[]).includes(claim))
    problems.push(`claim should be one of ${oidcClaims.join(', ')}`);
  if (userField(structure, field) === undefined)
    problems.push('field should be the slug of a unique TEXT field that is not hashed');
  if (typeof signUp !== 'boolean') problems.push('signUp should be true or false');
  if (!isListOf(returnTo, mostAddresses, isPage))
    problems.push(
      `returnTo should be an array of 1 to ${mostAddresses} whole addresses of pages, without a fragment`,
    );
  if (problems.length > 0) throw invalidRules(problems, refusal);
  return { issuer, clientId, clientSecret, scopes, claim, field, signUp, returnTo } as OidcLoginSettings;
}

const refusal = 'The settings do not fit';

/** The field that names users; undefined: it does not fit, or not any more. */
export function userField({ fields }: Structure, slug: unknown): Field | undefined {
  return fields.find((one) => one.slug === slug && one.unique && !one.hashed && typeCan(one.type, 'text'));
}

function isText(value: unknown, longestOne: number): value is string {
  return typeof value === 'string' && value !== '' && value.length <= longestOne;
}

function isListOf(value: unknown, most: number, fits: (one: string) => boolean): value is string[] {
  return (
    Array.isArray(value) &&
    value.length > 0 &&
    value.length <= most &&
    value.every((one) => typeof one === 'string' && fits(one))
  );
}

const thisMachine = ['localhost', '127.0.0.1', '[::1]'];

function isIssuer(value: unknown): boolean {
  const url = addressOf(value);
  return url !== null && url.search === '' && url.hash === '' && !String(value).endsWith('?');
}

function isPage(value: string): boolean {
  return addressOf(value) !== null && !value.includes('#');
}

/** An https address without a user; http is for this machine. */
function addressOf(value: unknown): URL | null {
  if (!isText(value, longest.address) || !URL.canParse(value)) return null;
  const url = new URL(value);
  const isSafe =
    url.protocol === 'https:' || (url.protocol === 'http:' && thisMachine.includes(url.hostname));
  return isSafe && url.username === '' && url.password === '' ? url : null;
}
