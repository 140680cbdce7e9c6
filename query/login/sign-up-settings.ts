import { shownName } from '#kernel/errors/shown-name.ts';
import type { MailPurpose } from '#kernel/record-events/mail.ts';
import type { Field } from '#records/structure/field.ts';
import type { Structure } from '#records/structure/structure.ts';
import { typeOfFlags, typeOfTexts } from '#records/types/field-types.ts';
import { isObject } from '#records/types/is-object.ts';
import { type MailTexts, readMailTexts } from './mail-texts.ts';

/** How users of a space sign up: the key `signUp` of its rules (docs/sign-up.md). */
export interface SignUpSettings {
  readonly email: Field;
  readonly password: Field;
  /** Whether the address is the user's; null: nobody asks. */
  readonly verified: Field | null;
  /** Whether users have to verify their address before they can log in. */
  readonly required: boolean;
  /** The name of the application in mails. */
  readonly app: string;
  /** Called for each mail, in place of the SMTP server; null: mails go there. */
  readonly webhook: string | null;
  readonly pages: Readonly<Record<Page, string | null>>;
  readonly mails: MailTexts;
}

const pageNames = ['verifyEmail', 'resetPassword'] as const;
type Page = (typeof pageNames)[number];

const keys = ['email', 'password', 'verified', 'required', 'app', 'webhook', 'pages', 'mails'];
const longestName = 60;
const longestUrl = 2000;

/** The page that the link of a mail leads to. */
export function pageOf({ pages }: Pick<SignUpSettings, 'pages'>, purpose: MailPurpose): string | null {
  return purpose === 'verifyEmail' ? pages.verifyEmail : pages.resetPassword;
}

/** Reads the settings against the stored structure. If it adds problems, the result must not be used. */
export function readSignUp(input: unknown, structure: Structure, problems: string[]): SignUpSettings | null {
  if (input === undefined || input === null) return null;
  const given = isObject(input) ? input : {};
  if (!isObject(input)) problems.push('signUp should be an object');
  for (const key of Object.keys(given))
    if (!keys.includes(key)) problems.push(`signUp has no ${shownName(key)}, only ${keys.join(', ')}`);
  const { verified: verifiedName = null, required = verifiedName !== null } = given;
  const email = readField('email', given.email ?? 'email', structure, problems);
  const password = readField('password', given.password ?? 'password', structure, problems);
  const verified = verifiedName === null ? null : readField('verified', verifiedName, structure, problems);
  if (typeof required !== 'boolean') problems.push('signUp.required should be true or false');
  else if (required && verifiedName === null)
    problems.push('signUp.required needs signUp.verified, a BOOLEAN field');
  const { app = structure.projectSlug, webhook = null } = given;
  if (typeof app !== 'string' || app.trim() === '' || app.length > longestName || /\p{Cc}/u.test(app))
    problems.push(`signUp.app should be a name of up to ${longestName} characters`);
  if (webhook !== null && !isUrl(webhook, (url) => url.hash === ''))
    problems.push('signUp.webhook should be an http or https address');
  const pages = readPages(given.pages ?? {}, problems);
  const hasLink = (purpose: MailPurpose): boolean => pageOf({ pages }, purpose) !== null;
  const mails = readMailTexts(given.mails ?? {}, hasLink, problems);
  return {
    email,
    password,
    verified,
    required: required === true,
    app: String(app),
    webhook: webhook as string | null,
    pages,
    mails,
  };
}

const wanted = {
  email: {
    form: 'a TEXT that is unique and not hashed',
    fits: ({ type, unique, hashed }: Field) => type === typeOfTexts && unique && !hashed,
  },
  password: {
    form: 'a TEXT that is hashed and not unique',
    fits: ({ type, unique, hashed }: Field) => type === typeOfTexts && hashed && !unique,
  },
  verified: {
    form: 'a BOOLEAN that is neither unique nor hashed, and not true by default',
    fits: ({ type, unique, hashed, defaultValue }: Field) =>
      type === typeOfFlags && !unique && !hashed && defaultValue !== true,
  },
};

function readField(
  key: keyof typeof wanted,
  name: unknown,
  { lookup }: Structure,
  problems: string[],
): Field {
  const field = typeof name === 'string' ? lookup.get(name) : undefined;
  if (field === undefined)
    problems.push(`signUp.${key} names ${shownName(String(name))}, which is not a field of the structure`);
  else if (!wanted[key].fits(field))
    problems.push(`signUp.${key} names ${shownName(field.name)}, which should be ${wanted[key].form}`);
  return field as Field;
}

/** Links lead only here, whatever a request says. */
function readPages(input: unknown, problems: string[]): Readonly<Record<Page, string | null>> {
  if (!isObject(input)) problems.push('signUp.pages should be an object');
  const given = isObject(input) ? input : {};
  for (const key of Object.keys(given))
    if (!(pageNames as readonly string[]).includes(key))
      problems.push(`signUp.pages has no ${shownName(key)}, only ${pageNames.join(', ')}`);
  const read = (page: Page): string | null => {
    const address = given[page] ?? null;
    if (address === null || isUrl(address, isSafePage)) return address as string | null;
    problems.push(
      `signUp.pages.${page} should be an https address without a fragment, or one of http on localhost`,
    );
    return null;
  };
  return { verifyEmail: read('verifyEmail'), resetPassword: read('resetPassword') };
}

function isUrl(text: unknown, isFit: (url: URL) => boolean): text is string {
  if (typeof text !== 'string' || text.length > longestUrl || /[\s\p{C}]/u.test(text)) return false;
  if (!URL.canParse(text)) return false;
  const url = new URL(text);
  return /^https?:$/.test(url.protocol) && url.username === '' && url.password === '' && isFit(url);
}

/** The token is put into the fragment, which browsers send to no server. */
function isSafePage({ protocol, hostname, href }: URL): boolean {
  const isHere = hostname === 'localhost' || hostname === '127.0.0.1' || hostname === '[::1]';
  return !href.includes('#') && (protocol === 'https:' || isHere);
}
