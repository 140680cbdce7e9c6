import { type BucketRequests, codeOf, isSuccess, md5Of, refusalText } from './bucket-requests.ts';

/** A configuration of a bucket that is a list of rules. */
export interface RuleKind {
  /** The query parameter of its requests. */
  readonly parameter: 'cors' | 'lifecycle';
  /** Element of the document, and of each rule. */
  readonly root: string;
  readonly rule: string;
}

/** The rules of a bucket, as the store sent them. */
export interface RuleDocument {
  /** null: there are none. */
  readonly text: string | null;
  /** Why they can't be read; null: they were read. */
  readonly refusal: string | null;
}

/** A rule of ours. */
export interface OwnRule {
  readonly id: string;
  /** Its element, with the id. */
  readonly xml: string;
}

/** Seconds: these addresses are used at once. */
const lifetime = 60;

export async function readRules(
  { presignInside, send }: BucketRequests,
  { parameter }: RuleKind,
  signal: AbortSignal,
): Promise<RuleDocument> {
  const address = await presignInside(
    { method: 'GET', key: '', query: { [parameter]: '' }, headers: {}, lifetime },
    signal,
  );
  const answer = await send({ method: 'GET', url: address.url }, signal);
  if (isSuccess(answer)) return { text: answer.text, refusal: null };
  // NoSuchCORSConfiguration, NoSuchLifecycleConfiguration
  const isEmpty = answer.status === 404 && /Configuration/.test(codeOf(answer));
  return { text: null, refusal: isEmpty ? null : refusalText(answer) };
}

/** Stores a document. @returns why the store refused it; null: it is stored */
export async function writeRules(
  { presignInside, send }: BucketRequests,
  { parameter }: RuleKind,
  text: string,
  signal: AbortSignal,
): Promise<string | null> {
  const headers = { 'content-md5': md5Of(text), 'content-type': 'application/xml' };
  const request = { method: 'PUT', key: '', query: { [parameter]: '' }, headers, lifetime } as const;
  const { url } = await presignInside(request, signal);
  const answer = await send({ method: 'PUT', url, headers, body: text }, signal);
  return isSuccess(answer) ? null : refusalText(answer);
}

/**
 * The document with rules of ours in place of earlier ones with the same ids. All other text stays as it is, because a
 * parser would drop what it does not know of others' rules.
 * @param args.first ours come before the others
 */
export function withOwnRules(
  text: string | null,
  {
    kind,
    rules,
    first,
  }: { readonly kind: RuleKind; readonly rules: readonly OwnRule[]; readonly first: boolean },
): string {
  const own = rules.map(({ xml }) => xml).join('');
  const { root } = kind;
  if (text === null || new RegExp(`<${root}\\b[^>]*/>`).test(text))
    return `<${root} xmlns="http://s3.amazonaws.com/doc/2006-03-01/">${own}</${root}>`;
  const rest = rulesOf(text, kind)
    .filter((rule) => rules.some(({ id }) => valuesOf(rule, 'ID').includes(id)))
    .reduce((left, rule) => left.replace(rule, ''), text);
  const [place] = (first ? new RegExp(`<${root}\\b[^>]*>`) : new RegExp(`</${root}>`)).exec(rest) ?? [];
  if (place === undefined) throw new Error(`the store answers with something else than a ${root}`);
  return rest.replace(place, () => (first ? place + own : own + place));
}

/** The elements of its rules. */
export function rulesOf(text: string, { rule }: Pick<RuleKind, 'rule'>): readonly string[] {
  return text.match(new RegExp(`<${rule}>.*?</${rule}>`, 'gs')) ?? [];
}

/** The texts of an element. */
export function valuesOf(xml: string, name: string): readonly string[] {
  const found = xml.matchAll(new RegExp(`<${name}>\\s*([^<]*?)\\s*</${name}>`, 'g'));
  return [...found].map(([, value = '']) => value);
}

export function element(name: string, text: string): string {
  return `<${name}>${text.replaceAll('&', '&amp;').replaceAll('<', '&lt;')}</${name}>`;
}
