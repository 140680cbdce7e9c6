import { trainCase } from '#kernel/ids/slug-of-name.ts';
import { address } from '../address.ts';
import { type Field, hasDefault, type Structure } from '../projects/structure.ts';
import { typeEntry } from './field-types.ts';
import type { Where } from './filters.ts';
import { headerJson, type RecordView, viewOptions, whereOf } from './record-view.ts';

export interface SnippetInput {
  readonly apiUrl: string;
  readonly project: string;
  readonly space: Structure;
  readonly view: RecordView;
  readonly limit: number;
}

/** Placeholder for the access token, because tokens are only shown when they are created. */
const token = 'ACCESS_TOKEN';

function addressOf({ apiUrl, project, space }: SnippetInput): string {
  return apiUrl + address`/${project}/${space.slug}/_find_`;
}

/** The request behind the page, to paste into a shell. */
export function curlSnippet(input: SnippetInput): string {
  const options = headerJson(viewOptions(input.view, { limit: input.limit }));
  return curl(addressOf(input), whereOf(input.view, input.space.fields), [`options: ${options}`]);
}

/** A POST with JSON. */
export function curl(url: string, body: unknown, headers: readonly string[] = []): string {
  return [
    `curl ${shellQuoted(url)}`,
    `-H ${shellQuoted(`authorization: Bearer ${token}`)}`,
    ...['use-pre-stored-structure: true', 'content-type: application/json', ...headers].map(
      (header) => `-H ${shellQuoted(header)}`,
    ),
    `-d ${shellQuoted(JSON.stringify(body))}`,
  ].join(' \\\n  ');
}

/** Within single quotes a shell takes everything as it is; a quote is put in from outside them. */
function shellQuoted(text: string): string {
  return `'${text.replaceAll("'", "'\\''")}'`;
}

export function fetchSnippet(input: SnippetInput): string {
  const options = viewOptions(input.view, { limit: input.limit });
  const unicode = headerJson(options) !== JSON.stringify(options);
  const literal = indented(JSON.stringify(options, null, 2), 4);
  const header = unicode ? JSON.stringify(headerJson(options)) : `JSON.stringify(${literal})`;
  return `const response = await fetch(${JSON.stringify(addressOf(input))}, {
  method: 'POST',
  headers: {
    authorization: 'Bearer ${token}',
    'use-pre-stored-structure': 'true',
    'content-type': 'application/json',
    options: ${header},
  },
  body: JSON.stringify(${JSON.stringify(whereOf(input.view, input.space.fields))}),
});
if (!response.ok) throw new Error((await response.json()).message);
const records = await response.json();
`;
}

/** The same with nobox-client, or why that can't. */
export function clientSnippet(input: SnippetInput): { readonly code: string } | { readonly problem: string } {
  const problem = clientProblem(input);
  if (problem !== null) return { problem };
  const { apiUrl, project, space } = input;
  // the client's requests overwrite the stored structure, so include all of it
  const structure = space.fields.map((field) => `    ${JSON.stringify(field.name)}: ${definition(field)},`);
  return {
    code: `import { getSchemaCreator } from 'nobox-client';

const config = { endpoint: ${JSON.stringify(apiUrl)}, project: ${JSON.stringify(project)}, token: '${token}' };
const createSchema = getSchemaCreator(config, { type: 'rowed' });
const model = createSchema({
  space: ${JSON.stringify(clientSpace(space))},
  description: ${JSON.stringify(space.description)},
  structure: {
${structure.join('\n')}
  },
});
const records = await model.${call(input)};
`,
  };
}

function call({ view, space: { fields }, limit }: SnippetInput): string {
  const options = indented(JSON.stringify(viewOptions(view, { limit }), null, 2), 0);
  return `find(${JSON.stringify(parameters(whereOf(view, fields)))}, ${options})`;
}

/** Conditions for the client, which sends them in the query. */
function parameters(where: Where): object {
  const entries = new Map<string, unknown>();
  // an object can have each key only once
  const others: object[] = [];
  for (const condition of where) {
    if (condition.length === 2) {
      const [group, branches] = condition;
      if (entries.has(group)) others.push(parameters([condition]));
      else entries.set(group, branches.map(parameters));
      continue;
    }
    const [name, operator, value] = condition;
    const text = typeof value === 'object' ? JSON.stringify(value) : value;
    if (operator === 'eq') entries.set(name, text);
    else entries.set(name, { ...(entries.get(name) ?? {}), [operator]: value });
  }
  if (others.length > 0) entries.set('$and', others);
  return Object.fromEntries(entries);
}

function definition(field: Field): string {
  const parts = [`type: ${typeEntry(field.type).clientType}`];
  for (const flag of ['required', 'unique', 'hashed'] as const) if (field[flag]) parts.push(`${flag}: true`);
  if (field.normalize !== undefined) parts.push(`normalize: ${JSON.stringify(field.normalize)}`);
  for (const text of ['description', 'comment'] as const) {
    const value = field[text];
    if (value !== undefined && value !== '') parts.push(`${text}: ${JSON.stringify(value)}`);
  }
  if (hasDefault(field)) parts.push(`defaultValue: ${JSON.stringify(field.defaultValue)}`);
  return `{ ${parts.join(', ')} }`;
}

/** The client derives the slug from this name. */
function clientSpace({ slug, name }: Structure): string {
  return name.toLowerCase() === slug ? name : slug;
}

function clientProblem({ space, view }: SnippetInput): string | null {
  if (clientSpace(space).toLowerCase() !== space.slug) {
    return 'nobox-client writes slugs of record spaces in lower case, so it can’t reach this one.';
  }
  const other = space.fields.find(({ name, slug }) => trainCase(name) !== slug);
  if (other !== undefined) {
    return `nobox-client derives slugs of fields from their names, but “${other.name}” has a different slug.`;
  }
  const typed = space.fields.find(({ type }) => typeEntry(type).clientType === undefined);
  if (typed !== undefined)
    return `nobox-client has no fields of type ${typed.type}, such as “${typed.name}”.`;
  // in an object literal it sets the prototype
  if (view.filters.has('__proto__')) return 'nobox-client can’t send a condition on a field of this name.';
  return null;
}

function indented(text: string, spaces: number): string {
  return text.replaceAll('\n', `\n${' '.repeat(spaces)}`);
}
