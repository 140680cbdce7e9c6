import { type Field, hasDefault, trainCase } from '../projects/structure.ts';
import {
  headerJson,
  type RecordView,
  searchedFields,
  spacePath,
  viewOptions,
  viewPath,
} from './record-view.ts';

export interface SnippetInput {
  readonly apiUrl: string;
  readonly project: string;
  readonly space: { readonly slug: string; readonly name: string; readonly description: string };
  readonly fields: readonly Field[];
  readonly view: RecordView;
  readonly limit: number;
}

/** Stands where the access token belongs: tokens are shown once, when they are created. */
const token = 'ACCESS_TOKEN';

function address({ apiUrl, project, space, fields, view }: SnippetInput): string {
  return `${apiUrl}${spacePath(project, space.slug)}${viewPath(view, fields)}`;
}

/** A request for what is on the screen, as pasted into a shell. */
export function curlSnippet(input: SnippetInput): string {
  const options = headerJson(viewOptions(input.view, { limit: input.limit }));
  return [
    `curl ${shellQuoted(address(input))}`,
    `-H ${shellQuoted(`authorization: Bearer ${token}`)}`,
    `-H ${shellQuoted('use-pre-stored-structure: true')}`,
    `-H ${shellQuoted(`options: ${options}`)}`,
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
  return `const response = await fetch(${JSON.stringify(address(input))}, {
  headers: {
    authorization: 'Bearer ${token}',
    'use-pre-stored-structure': 'true',
    options: ${header},
  },
});
if (!response.ok) throw new Error((await response.json()).message);
const records = await response.json();
`;
}

const constructors = {
  TEXT: 'String',
  NUMBER: 'Number',
  BOOLEAN: 'Boolean',
  ARRAY: 'Array',
  OBJECT: 'Object',
};

/** The same with the published client; or why it can't. */
export function clientSnippet(input: SnippetInput): { readonly code: string } | { readonly problem: string } {
  const problem = clientProblem(input);
  if (problem !== null) return { problem };
  const { apiUrl, project, space, fields, view, limit } = input;
  // the client's requests bring the stored structure to this one: it says everything that the stored one does
  const structure = fields.map((field) => `    ${JSON.stringify(field.name)}: ${definition(field)},`);
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
const records = await model.${call(view, fields, limit)};
`,
  };
}

function call(view: RecordView, fields: readonly Field[], limit: number): string {
  const options = indented(JSON.stringify(viewOptions(view, { limit }), null, 2), 0);
  if (view.search !== '') {
    const searchableFields = searchedFields(fields).map(({ name }) => name);
    return `search(${JSON.stringify({ searchText: view.search, searchableFields })}, ${options})`;
  }
  return `find(${JSON.stringify(Object.fromEntries(view.filters))}, ${options})`;
}

function definition(field: Field): string {
  const parts = [`type: ${constructors[field.type]}`];
  for (const flag of ['required', 'unique', 'hashed'] as const) if (field[flag]) parts.push(`${flag}: true`);
  for (const text of ['description', 'comment'] as const) {
    const value = field[text];
    if (value !== undefined && value !== '') parts.push(`${text}: ${JSON.stringify(value)}`);
  }
  if (hasDefault(field)) parts.push(`defaultValue: ${JSON.stringify(field.defaultValue)}`);
  return `{ ${parts.join(', ')} }`;
}

/** The client makes the slug from what it calls the space. */
function clientSpace({ slug, name }: SnippetInput['space']): string {
  return name.toLowerCase() === slug ? name : slug;
}

function clientProblem({ space, fields, view }: SnippetInput): string | null {
  if (clientSpace(space).toLowerCase() !== space.slug) {
    return 'nobox-client writes slugs of record spaces in lower case, so it can’t reach this one.';
  }
  const other = fields.find(({ name, slug }) => trainCase(name) !== slug);
  if (other !== undefined) {
    return `nobox-client makes slugs of fields from their names. The slug of “${other.name}” is another one.`;
  }
  // an object literal takes it for its prototype
  if (view.filters.has('__proto__')) return 'nobox-client can’t send a condition on a field of this name.';
  return null;
}

function indented(text: string, spaces: number): string {
  return text.replaceAll('\n', `\n${' '.repeat(spaces)}`);
}
