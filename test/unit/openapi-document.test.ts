import { Ajv2020 } from 'ajv/dist/2020.js';
import t from 'tap';
import { errorCodes } from '#kernel/errors/error-codes.ts';
import { describeSpace } from '#query/openapi/space-document.ts';
import { operations, scopes } from '#query/operations.ts';
import { parseStructure } from '#records/structure/parse-structure.ts';
import type { Structure } from '#records/structure/structure.ts';
import { asOpenApi30 } from '#server/openapi/openapi-30.ts';
import { wantedVersion } from '#server/openapi/openapi-answer.ts';
import { fakeRequest } from '../services/fake-request.ts';
import {
  consoleTable,
  documentOf,
  gatewayTable,
  operationsOf,
  problemsOf,
  processRoutes,
  queryTable,
} from '../services/openapi-document.ts';
import { fieldsOf, personFields, structureOf } from '../services/record-client.ts';
import { sized } from '../services/test-size.ts';

const processes = {
  both: [...gatewayTable(), ...queryTable(), ...consoleTable()],
  gateway: gatewayTable(),
  query: queryTable(),
};

for (const [name, services] of Object.entries(processes)) {
  for (const version of ['3.0', '3.1'] as const) {
    t.test(`the description of ${name} is OpenAPI ${version}, and of all its routes`, async (t) => {
      const routes = processRoutes(services);
      const document = await documentOf(routes, version);
      t.equal(document.openapi, `${version}.0`);
      t.equal(await problemsOf(document), '');
      const described = operationsOf(document)
        .map(({ method, path }) => `${method} ${path.replace(/\{(\w+)\}/g, ':$1')}`)
        .filter((line) => !line.startsWith('HEAD'));
      const served = routes
        .filter(({ path }) => !isOfBrowsers(path))
        .map(({ method, path }) => `${method} ${path.replace(/\*$/, '')}`);
      t.strictSame(described.sort(), served.sort());
      const ids = operationsOf(document).map(({ operation }) => operation.operationId);
      t.equal(new Set(ids).size, ids.length, 'each operation has an id of its own');
    });
  }
}

/** Whether only pages of ours and redirects lead to a path. */
function isOfBrowsers(path: string): boolean {
  return /^\/_(?:console|oidc)_/.test(path);
}

t.test('every route has the name of an operation, by which it is measured, logged and traced', async (t) => {
  const routes = processRoutes(processes.both);
  t.ok(routes.length > 20);
  for (const { method, path, operation, api } of routes) {
    t.match(operation, /^[a-zA-Z]+$/, `${method} ${path}`);
    t.equal(api === undefined, isOfBrowsers(path), `${method} ${path} is described`);
  }
});

t.test('no enum lists a value twice, and errors are said once', async (t) => {
  const document = await documentOf(processRoutes(processes.both), '3.0');
  const visit = (part: unknown): void => {
    if (typeof part !== 'object' || part === null) return;
    const { enum: values } = part as { readonly enum?: unknown };
    if (Array.isArray(values)) t.equal(new Set(values).size, values.length, JSON.stringify(values));
    for (const inner of Object.values(part)) visit(inner);
  };
  visit(document);
  const perOperation = JSON.stringify(document).length / operationsOf(document).length;
  t.ok(perOperation < 3700, `the answers to errors are references: ${perOperation} characters an operation`);
});

t.test('every operation of the table is named as it is there', async (t) => {
  const document = await documentOf(processRoutes(processes.both));
  const ids = operationsOf(document).map(({ operation }) => operation.operationId);
  for (const { name, id = name } of operations) t.ok(ids.includes(id), id);
});

t.test('every code of the catalogue is at some operation, or said of all', async (t) => {
  const document = await documentOf(processRoutes(processes.both));
  const codes = operationsOf(document).flatMap(({ operation }) => operation['x-error-codes'] as string[]);
  const { description } = document.info as { description: string };
  const ofTheDashboard = [
    ...['csrf_refused', 'registration_refused', 'wrong_password', 'email_refused', 'membership_refused'],
  ];
  for (const code of Object.keys(errorCodes))
    t.ok(codes.includes(code) || description.includes(code) || ofTheDashboard.includes(code), code);
});

t.test('each 429 and 503 has Retry-After, and each answer X-Request-Id', async (t) => {
  for (const { path, operation } of operationsOf(await documentOf(processRoutes(processes.both)))) {
    for (const [status, { headers }] of Object.entries<{ headers: Record<string, { required?: boolean }> }>(
      operation.responses,
    )) {
      t.equal(headers['X-Request-Id']?.required, true, `${path} ${status}`);
      if (status === '429' || status === '503') t.equal(headers['Retry-After']?.required, true, path);
    }
  }
});

t.test('which version a request asks for', async (t) => {
  const asked = (query: [string, string][], accept?: string) =>
    wantedVersion(fakeRequest({ query, headers: accept === undefined ? {} : { accept } }));
  const type = 'application/vnd.oai.openapi+json';
  t.equal(asked([]), '3.0');
  t.equal(asked([['version', '3.1']]), '3.1');
  t.equal(asked([['version', '3.1.0']]), '3.1');
  t.equal(asked([['version', '3.0.0']], `${type};version=3.1`), '3.0');
  t.equal(asked([], `${type};version=3.1`), '3.1');
  t.equal(asked([], `text/html, ${type}; version="3.1.0"`), '3.1');
  t.equal(asked([], type), '3.0');
  t.equal(asked([], '*/*'), '3.0');
  t.throws(() => asked([['version', '2.0']]), { status: 400, code: 'malformed_request' });
  const twice: [string, string][] = [
    ['version', '3.0'],
    ['version', '3.1'],
  ];
  t.throws(() => asked(twice), { status: 400, code: 'malformed_request' });
});

t.test('every limited operation says 429, and functions that are not there 501', async (t) => {
  for (const { operation } of operationsOf(await documentOf(processRoutes(processes.both)))) {
    const { operationId, responses } = operation;
    const unlimited = ['checkLiveness', 'getHealth', 'checkReadiness', 'getMetrics'].includes(operationId);
    t.equal(operation['x-error-codes'].includes('rate_limited'), !unlimited, operationId);
    const missing = ['sendOtp', 'sendPushNotifications'].includes(operationId);
    // there may be no engine for files, no sharp for pictures, processes may not hear of each other, and mails need a server
    const mayBeMissing =
      missing ||
      /^(?:queryFile|download|checkFile|watchRecords|find(?:By|$)|signUp|verifyEmail|resetPassword)/.test(
        operationId,
      );
    t.equal(responses[501] !== undefined, mayBeMissing, operationId);
    const succeeds = Object.keys(responses).some((status) => Number(status) < 400);
    t.equal(succeeds, !missing, operationId);
  }
});

/** An operation of a described space. */
// biome-ignore lint/suspicious/noExplicitAny: JSON
function operationOf(document: ReturnType<typeof describeSpace>, id: string): any {
  return operationsOf(document).find(({ operation }) => operation.operationId === id)?.operation;
}

function namesOfParameters(document: ReturnType<typeof describeSpace>, id: string): string[] {
  return operationOf(document, id).parameters.map(({ name }: { name: string }) => name);
}

function parsed(fields: Parameters<typeof structureOf>[2], more: object = {}): Structure {
  return parseStructure(structureOf('demo', 'people', fields, more), scopes).structure as Structure;
}

// `$ref` would be right as well, but validators take it for a reference wherever it stands
/** Types of which most languages have none. */
const exactFields = [
  ...fieldsOf('at DATETIME, day DATE, seats INTEGER required, odometer BIGINT unique'),
  { name: 'price', type: 'DECIMAL', precision: 18, scale: 2 },
];

const hostile = [
  ...['__proto__', 'constructor', 'type', 'default', 'example', 'schema', 'properties'],
  ...['a&b=c{d}', 'ünï ✓', '/~1'],
];

t.test('a space is described with its own fields', async (t) => {
  const structures = {
    'of all types': parsed([
      ...personFields,
      ...exactFields,
      { name: 'email', type: 'TEXT', unique: true, required: true, defaultValue: 'x' },
      { name: 'password', type: 'TEXT', hashed: true, required: true, description: 'a secret' },
    ]),
    'without fields': parsed([]),
    'of hostile names': parsed(
      hostile.map((name, i) => ({
        name,
        slug: `f${i}`,
        type: 'OBJECT',
        defaultValue: { type: ['a', 'null'], enum: [], $ref: 'x' },
        description: '<script>alert(1)</script>',
      })),
    ),
    'for logged-in users': parsed(personFields, { authOptions: { active: true, space: 'User' } }),
  };
  for (const [name, structure] of Object.entries(structures)) {
    const document = describeSpace(operations, structure, '/');
    t.equal(await problemsOf(document), '', `${name}: 3.1`);
    t.equal(await problemsOf(asOpenApi30(document)), '', `${name}: 3.0`);
    for (const { path } of operationsOf(document)) t.ok(path.startsWith('/demo/people'), path);
  }
});

t.test('the slug of a described space is any name', async (t) => {
  const slugs = [...hostile, 'x'.repeat(200), '%2F..', ':project', '{space}?a=b#c'];
  const together = slugs.join('');
  const validated = [together, ...slugs].slice(0, sized(slugs.length + 1, 1));
  for (const slug of [...slugs, together]) {
    const { structure } = parseStructure(structureOf('demo', slug, personFields), scopes);
    const document = describeSpace(operations, structure as Structure, '/');
    if (validated.includes(slug)) {
      t.equal(await problemsOf(document), '', slug);
      t.equal(await problemsOf(asOpenApi30(document)), '', slug);
    }
    const paths = new Set(operationsOf(document).map(({ path }) => path.split('/')[2]));
    t.strictSame([...paths], [encodeURIComponent(slug)]);
  }
});

t.test('types, flags and what is hidden of a typed space', async (t) => {
  const document = asOpenApi30(
    describeSpace(
      operations,
      parsed([
        ...personFields,
        { name: 'password', type: 'TEXT', hashed: true, required: true },
        { name: 'role', type: 'TEXT', required: true, defaultValue: 'reader' },
      ]),
      '/',
    ),
  );
  // biome-ignore lint/suspicious/noExplicitAny: JSON
  const { schemas } = document.components as any;
  t.strictSame(schemas.NewRecord.required, ['fullName', 'password']);
  t.strictSame(schemas.NewRecord.properties.fullName, { type: 'string' });
  t.strictSame(schemas.NewRecord.properties.age, { type: 'number', nullable: true });
  t.notOk(schemas.StoredRecord.properties.password, 'hashed fields are in no answer');
  t.strictSame(schemas.StoredRecord.required.sort(), [
    ...['active', 'age', 'createdAt', 'extra', 'fullName', 'id', 'role', 'tags', 'updatedAt'],
  ]);
  t.equal(schemas.StoredRecord.additionalProperties, false);
  t.strictSame(schemas.FoundRecord.required, ['id'], 'select may leave out the others');
  t.equal(schemas.FoundRecord.additionalProperties, true, 'what populate adds');
  const { parameters } = operationOf(document, 'find');
  // biome-ignore lint/suspicious/noExplicitAny: JSON
  const parameter = (name: string): any => parameters.find((p: { name: string }) => p.name === name);
  t.strictSame(parameter('age').schema, { type: 'number' });
  t.strictSame(parameter('full-name').schema, { type: 'string' });
  t.strictSame(parameter('tags').schema, { type: 'string' }, 'JSON');
  t.strictSame(parameter('use-pre-stored-structure').schema.enum, ['true']);
  t.notOk(parameter('structure'));
});

t.test('values that a JSON number may round are strings of a typed space', async (t) => {
  const document = describeSpace(operations, parsed(exactFields), '/');
  const ajv = new Ajv2020({ strict: false, formats: { 'date-time': true, date: true, int64: true } });
  ajv.addSchema(document, 'document');
  const isA = (schema: string, value: object): boolean =>
    ajv.validate({ $ref: `document#/components/schemas/${schema}` }, value);
  const record = {
    at: '2026-01-31T12:00:00.000Z',
    day: '2026-01-31',
    seats: 4,
    odometer: '-9223372036854775808',
    price: '-0.50',
  };
  t.ok(isA('NewRecord', record), ajv.errorsText());
  t.ok(isA('NewRecord', { seats: 4, odometer: null, price: null }), ajv.errorsText());
  const system = { id: 'x', createdAt: record.at, updatedAt: record.at };
  t.ok(isA('StoredRecord', { ...system, ...record }), ajv.errorsText());
  t.ok(isA('Where', { odometer: { gt: '5' }, price: { in: ['1', '2.5'] }, day: { lte: '2026-01-31' } }));
  const wrong = { at: 5, day: 20260131, seats: 1.5, odometer: 5, price: 0.5 };
  for (const [name, value] of Object.entries(wrong)) {
    t.notOk(isA('StoredRecord', { ...system, ...record, [name]: value }), name);
    t.notOk(isA('Where', { [name]: { gte: value } }), name);
  }
  t.notOk(isA('Where', { day: { startsWith: '2026' } }), 'an operator of TEXT');
  for (const changes of [{ seats: { $inc: 1 } }, { seats: { $inc: -2 }, price: { $inc: '0.10' } }])
    t.ok(isA('Changes', changes), ajv.errorsText());
  for (const changes of [
    { seats: { $inc: 0.5 } },
    { odometer: { $inc: '1' } },
    { price: { $inc: 1 } },
    { day: { $inc: 1 } },
  ])
    t.notOk(isA('Changes', changes), JSON.stringify(changes));
});

t.test('branches of groups have the types of the fields, and groups again', async (t) => {
  const document = describeSpace(operations, parsed(personFields), '/');
  const ajv = new Ajv2020({ strict: false, formats: { 'date-time': true } }).addSchema(document, 'document');
  const isConditions = (value: unknown) =>
    ajv.validate({ $ref: 'document#/components/schemas/Conditions' }, value);
  const right = [
    { $or: [{ age: 36 }, { age: { gt: 1 } }] },
    { $not: [{ $and: [{ fullName: 'Ada' }] }], age: 1 },
  ];
  const wrong = [
    {},
    { $or: [] },
    { $or: [{}] },
    { $or: [{ age: '36' }] },
    { $or: [{ $and: [{ age: { gt3: 1 } }] }] },
  ];
  for (const value of right) t.ok(isConditions(value), JSON.stringify(value));
  for (const value of wrong) t.notOk(isConditions(value), JSON.stringify(value));
});

t.test('of many fields parameters are for equality alone, and bodies have all operators', async (t) => {
  const parametersOf = (count: number): string[] => {
    const fields = Array.from({ length: count }, (_, at) => ({ name: `f${at}`, type: 'NUMBER' }));
    const document = describeSpace(operations, parsed(fields), '/');
    t.match(JSON.stringify(document.components), '"NumberOperators"');
    return namesOfParameters(document, 'find');
  };
  t.ok(parametersOf(100).includes('f99[gte]'));
  t.notOk(parametersOf(101).some((name) => name.includes('[gte]')));
  t.ok(parametersOf(101).includes('f100'));
});

t.test('an update lists the order that says which record is meant', async (t) => {
  const names = namesOfParameters(describeSpace(operations, parsed(personFields), '/'), 'updateOne');
  t.strictSame(
    names.filter((name) => name.startsWith('$')),
    ['$sort', '$limit', '$page', '$after'],
  );
});

t.test('a space for logged-in users wants a login token where its rule says so', async (t) => {
  const rule = { authOptions: { active: true, space: 'User', scope: ['insert'] } };
  const document = describeSpace(operations, parsed(personFields, rule), '/');
  const needs = (id: string): boolean =>
    operationOf(document, id).parameters.find((p: { name: string }) => p.name === 'token').required;
  t.equal(needs('insert'), true);
  t.equal(needs('find'), false);
});

t.test('where PUBLIC_URL is set it is the server', async (t) => {
  const routes = processRoutes(processes.both, 'https://api.example.com/base');
  t.strictSame((await documentOf(routes)).servers, [{ url: 'https://api.example.com/base' }]);
  const docs = await routes.find(({ path }) => path === '/docs')?.handler(fakeRequest());
  t.match(docs?.headers?.['content-security-policy'], /connect-src 'self' https:\/\/api\.example\.com;/);
});

t.test('nothing but the listed files is served beside the page', async (t) => {
  const route = processRoutes([]).find(({ path }) => path === '/_docs_/:file');
  const get = (file: string) => route?.handler(fakeRequest({ params: { file } }));
  const script = await get('swagger-ui-bundle.js');
  t.equal(script?.status, 200);
  for (const file of [
    '',
    'package.json',
    '../package.json',
    'index.html',
    '__proto__',
    'swagger-ui.js.map',
  ]) {
    t.throws(() => get(file), { status: 404, code: 'not_found' }, file);
  }
});
