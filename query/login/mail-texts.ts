import { shownName } from '#kernel/errors/shown-name.ts';
import { type MailPurpose, mailPurposes } from '#kernel/record-events/mail.ts';
import { isObject } from '#records/types/is-object.ts';

/** The words of a mail, with placeholders. Plain text: nothing in it is ever read as HTML. */
export interface MailText {
  readonly subject: string;
  readonly text: string;
}

export type MailTexts = Readonly<Record<MailPurpose, MailText>>;

/** There are no placeholders for values of a user: a stranger could sign up others with a text of his own. */
const placeholders = ['link', 'code', 'app'] as const;
type Placeholder = (typeof placeholders)[number];

const longest = { subject: 200, text: 5000 } as const;
const unprintable = { subject: /\p{Cc}/u, text: /[^\P{Cc}\n\t]/u };

const subjects: Readonly<Record<MailPurpose, string>> = {
  verifyEmail: 'Confirm your e-mail address for {app}',
  resetPassword: 'A new password for {app}',
  haveAccount: 'You already have an account at {app}',
};
const openings: Readonly<Record<MailPurpose, string>> = {
  verifyEmail: 'Please confirm that this is your e-mail address.',
  resetPassword: 'You asked for a new password.',
  haveAccount:
    'Somebody signed up with your e-mail address, which has an account already. If you forgot its password, choose a new one.',
};
const endings: Readonly<Record<MailPurpose, string>> = {
  verifyEmail: 'If you did not sign up, you can ignore this e-mail.',
  resetPassword: 'If you did not ask for it, you can ignore this e-mail: your password stays as it is.',
  haveAccount: 'If that was not you, you can ignore this e-mail: your account stays as it is.',
};

/** @param hasLink whether the application has a page for this mail */
export function usualText(purpose: MailPurpose, hasLink: boolean): MailText {
  const way = hasLink ? 'Open this link:\n\n{link}\n\nOr type this code: {code}' : 'Type this code: {code}';
  const text = `${openings[purpose]}\n\n${way}\n\nIt expires in 15 minutes and works once.\n\n${endings[purpose]}\n`;
  return { subject: subjects[purpose], text };
}

/** Reads the texts that a project sets; the others are the usual ones. @param hasLink by purpose */
export function readMailTexts(
  input: unknown,
  hasLink: (purpose: MailPurpose) => boolean,
  problems: string[],
): MailTexts {
  if (!isObject(input)) problems.push('signUp.mails should be an object');
  const given = isObject(input) ? input : {};
  for (const key of Object.keys(given))
    if (!(mailPurposes as readonly string[]).includes(key))
      problems.push(`signUp.mails has no ${shownName(key)}, only ${mailPurposes.join(', ')}`);
  return Object.fromEntries(
    mailPurposes.map((purpose) => {
      const usual = usualText(purpose, hasLink(purpose));
      const own = given[purpose];
      if (own === undefined) return [purpose, usual];
      return [purpose, readMailText(own, purpose, { usual, hasLink: hasLink(purpose) }, problems)];
    }),
  ) as Record<MailPurpose, MailText>;
}

function readMailText(
  own: unknown,
  purpose: MailPurpose,
  { usual, hasLink }: { readonly usual: MailText; readonly hasLink: boolean },
  problems: string[],
): MailText {
  const at = `signUp.mails.${purpose}`;
  const given = isObject(own) ? own : {};
  if (!isObject(own)) problems.push(`${at} should be an object with subject and text`);
  for (const key of Object.keys(given))
    if (key !== 'subject' && key !== 'text')
      problems.push(`${at} has no ${shownName(key)}, only subject, text`);
  const read = (part: 'subject' | 'text'): string => {
    const value = given[part] ?? usual[part];
    if (typeof value !== 'string' || value.trim() === '' || value.length > longest[part])
      problems.push(`${at}.${part} should be a text of up to ${longest[part]} characters`);
    else if (!value.isWellFormed() || unprintable[part].test(value))
      problems.push(`${at}.${part} should have no control characters`);
    return String(value);
  };
  const made = { subject: read('subject'), text: read('text') };
  const named = [made.subject, made.text].flatMap((text) => [...text.matchAll(/\{(\w*)\}/g)]);
  for (const [all, name = ''] of named) {
    if (!(placeholders as readonly string[]).includes(name))
      problems.push(`${at} has ${shownName(all)}: placeholders are {link}, {code} and {app}`);
    else if (name === 'link' && !hasLink)
      problems.push(`${at} has {link}, but signUp.pages names no page for it`);
  }
  const isOpen = named.some(([, name]) => name === 'link' || name === 'code');
  if (!isOpen) problems.push(`${at} should have {link} or {code}`);
  if (/\{(?:link|code)\}/.test(made.subject)) problems.push(`${at}.subject should not have {link} or {code}`);
  return made;
}

/** Values are put in once: a value that looks like a placeholder stays as it is. */
export function filledText(
  { subject, text }: MailText,
  values: Readonly<Record<Placeholder, string>>,
): MailText {
  const fill = (given: string): string =>
    given.replace(/\{(link|code|app)\}/g, (_, name: Placeholder) => values[name]);
  return { subject: fill(subject), text: fill(text) };
}
