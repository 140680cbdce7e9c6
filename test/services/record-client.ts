/** Plain HTTP calls of the record operations, with the common headers of interface.md section 4.2. */
export interface FieldInput {
  readonly name: string;
  readonly slug?: string;
  readonly type: string;
  readonly [flag: string]: unknown;
}

/** Fields as `name TYPE`, then what they are: `fieldsOf('email TEXT unique, fullName/full-name TEXT required')`. */
export function fieldsOf(...rows: readonly string[]): FieldInput[] {
  return rows
    .flatMap((row) => row.split(', '))
    .map((field) => {
      const [called = '', type = '', ...flags] = field.split(' ');
      const [name = '', slug = name] = called.split('/');
      return { name, slug, type, ...Object.fromEntries(flags.map((flag) => [flag, true])) };
    });
}

/** A field of each type. */
export const personFields: readonly FieldInput[] = [
  { name: 'fullName', slug: 'full-name', type: 'TEXT', required: true },
  { name: 'age', type: 'NUMBER' },
  { name: 'active', type: 'BOOLEAN' },
  { name: 'tags', type: 'ARRAY' },
  { name: 'extra', type: 'OBJECT' },
];

export function structureOf(
  project: string,
  space: string,
  fields: readonly FieldInput[],
  more: object = {},
): string {
  return JSON.stringify({
    name: space,
    description: 'made by a test',
    projectSlug: project,
    slug: space,
    recordStructure: fields.map((field) => ({
      slug: field.name,
      required: false,
      unique: false,
      hashed: false,
      description: '',
      comment: '',
      ...field,
    })),
    ...more,
  });
}

export interface Answer {
  readonly status: number;
  // biome-ignore lint/suspicious/noExplicitAny: answers are JSON of any shape, which each test looks into
  readonly body: any;
  readonly headers: Headers;
}

export async function call(args: {
  baseUrl: string;
  token: string;
  method?: string;
  path: string;
  structure?: string;
  headers?: Record<string, string>;
  body?: unknown;
}): Promise<Answer> {
  const response = await fetch(args.baseUrl + args.path, {
    method: args.method ?? (args.body === undefined ? 'GET' : 'POST'),
    headers: {
      accept: 'application/json, text/plain, */*',
      authorization: `Bearer ${args.token}`,
      'auto-create-project': 'true',
      'auto-create-record-space': 'true',
      'clear-all-spaces': 'false',
      mutate: 'true',
      ...(args.structure === undefined ? {} : { structure: args.structure }),
      ...(args.body === undefined ? {} : { 'content-type': 'application/json' }),
      ...args.headers,
    },
    ...(args.body === undefined
      ? {}
      : { body: typeof args.body === 'string' ? args.body : JSON.stringify(args.body) }),
  });
  return { status: response.status, body: await response.json(), headers: response.headers };
}
