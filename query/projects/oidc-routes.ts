import type { AccountOperation } from '#auth/account-routes.ts';
import { arrayOf, exactObject, named, nullable, string } from '#kernel/json/schema.ts';
import { exampleStructure } from '#records/structure/example-structure.ts';
import { noStoreJson } from '#server/http/no-store-json.ts';
import { readJson } from '#server/http/read-json.ts';
import { accountErrors, bodyErrors, jsonAnswer } from '#server/openapi/api-operation.ts';
import { curl } from '#server/openapi/curl.ts';
import { type OidcSettings, type OidcSettingsTable, oidcClaims } from '../login/oidc-settings.ts';
import type { SpacesParts } from '../space/spaces-deps.ts';
import { spaceOf } from './rule-routes.ts';

export interface OidcRouteParts extends Pick<SpacesParts, 'catalogue'> {
  readonly oidcSettings: OidcSettingsTable;
}

const path = '/_projects_/:project/spaces/:space/oidc';
const needs = { grant: 'structure', touches: 'space' } as const;
const errors = [...accountErrors, 'invalid_slug', 'record_space_not_found'] as const;
const longestBody = 64 * 1024;

const settingsOnly = {
  issuer: string,
  clientId: string,
  scopes: arrayOf(string),
  claim: { type: 'string', enum: [...oidcClaims] },
  field: string,
  signUp: { type: 'boolean' },
  returnTo: arrayOf(string),
} as const;
const answer = named('OidcSettings', exactObject({ settings: nullable(exactObject(settingsOnly)) }));
const given = exactObject(
  { ...settingsOnly, clientSecret: { ...string, description: 'Never returned' } },
  { optional: ['clientSecret', 'scopes', 'claim', 'field', 'signUp'] },
);
const example = {
  issuer: 'https://login.example.com',
  clientId: 'shop',
  clientSecret: 'the secret of this client',
  claim: 'email',
  signUp: true,
  returnTo: ['https://app.example.com/'],
};

const at = (base: string): string => `${base}/_projects_/shop/spaces/customers/oidc`;
/** Sets settings for one sample, in a space with users. */
function setThem(base: string): string {
  const [name] = exampleStructure.recordStructure;
  const email = { ...name, name: 'email', slug: 'email', required: true, unique: true };
  const structure = { ...exampleStructure, projectSlug: 'shop', slug: 'customers', recordStructure: [email] };
  const url = `${base}/shop/customers/set-structure`;
  return `${curl({ url, body: structure })}\n${curl({ method: 'PUT', url: at(base), body: example })}`;
}

/** How users of a record space log in by OpenID Connect (docs/security.md#login-by-openid-connect). */
export const oidcOperations: readonly AccountOperation<OidcRouteParts>[] = [
  {
    name: 'getOidc',
    method: 'GET',
    path,
    needs,
    summary: 'Get how users log in by OpenID Connect',
    description: 'Without the client secret.',
    answers: { 200: jsonAnswer('The settings; null: none', answer) },
    errors: [...errors],
    sample: (base) => `${setThem(base)}\n${curl({ url: at(base) })}`,
    async run(deps, request, ownerId) {
      const entry = await spaceOf(deps, request, ownerId);
      const found = await deps.oidcSettings.find(entry, request.signal);
      return noStoreJson({ settings: found && withoutSecret(found) });
    },
  },
  {
    name: 'setOidc',
    method: 'PUT',
    path,
    needs,
    summary: 'Set how users log in by OpenID Connect',
    description:
      'They apply at once. `null` removes them. The client secret may be left out to keep the one before, if issuer and clientId stay.',
    body: {
      description: 'Settings, or null',
      content: { 'application/json': { schema: nullable(given), example } },
    },
    answers: { 200: jsonAnswer('The settings; null: none', answer) },
    errors: [...errors, ...bodyErrors, 'invalid_rules'],
    sample: setThem,
    async run(deps, request, ownerId) {
      const input = await readJson(request, longestBody);
      const entry = await spaceOf(deps, request, ownerId);
      return noStoreJson({ settings: await deps.oidcSettings.set(entry, input, request.signal) });
    },
  },
];

function withoutSecret(settings: OidcSettings): OidcSettings {
  const { issuer, clientId, scopes, claim, field, signUp, returnTo } = settings;
  return { issuer, clientId, scopes, claim, field, signUp, returnTo };
}
