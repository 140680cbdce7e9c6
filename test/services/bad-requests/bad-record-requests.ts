import { randomUUID } from 'node:crypto';
import type { BadRequest } from './bad-request.ts';
import { badStructure, goodFields, goodStructure, otherKind, project, space } from './bad-structures.ts';
import type { Dice } from './dice.ts';

type Parts = Partial<Omit<BadRequest, 'kind'>> & { readonly structure?: string | Buffer | null };

const path = `/${project}/${space}`;
const goodBody = { text: 'x', mustHave: 'x' };

/** A request of the record operations; what is not given is right. */
function request(kind: string, token: string, parts: Parts): BadRequest {
  const { structure = goodStructure(), headers = [], ...rest } = parts;
  return {
    kind,
    method: 'GET',
    target: path,
    body: null,
    chunks: null,
    ...rest,
    headers: [
      ...(headers.some(([name]) => name === 'authorization')
        ? []
        : ([['authorization', `Bearer ${token}`]] as const)),
      ...(structure === null ? [] : ([['structure', structure]] as const)),
      ...headers,
    ],
  };
}

const json = (value: unknown): Buffer =>
  Buffer.from(typeof value === 'string' ? value : JSON.stringify(value));

/** Every operation, with what it needs to be right. */
const operations: readonly Parts[] = [
  { target: path },
  { target: `${path}/_single_` },
  { target: `${path}/search?searchText=a&searchableFields=text` },
  { target: `${path}/get-key-values` },
  { method: 'POST', target: path, body: json([goodBody]) },
  { method: 'POST', target: `${path}/_single_`, body: json(goodBody) },
  { method: 'POST', target: `${path}/update?text=never`, body: json({ text: 'x' }) },
  { method: 'POST', target: `${path}/update-by-id?id=x`, body: json({ text: 'x' }) },
  { method: 'POST', target: `${path}/set-key-values`, body: json(goodBody) },
  { method: 'DELETE', target: `${path}?id=x` },
];
const reads = [path, `${path}/_single_`];

/** An encoding of a character of a query or path that a parser might or might not decode. */
function encoded(dice: Dice, text: string): string {
  return dice.chance(0.8) ? encodeURIComponent(text) : encodeURIComponent(text).replaceAll('%20', '+');
}

const brokenEncodings = ['%', '%zz', '%C0%80', '%ED%A0%80', '%FF', '%E2%82', '%F8%88%80%80%80', '%u0041'];

export function badSlug(dice: Dice, token: string): BadRequest {
  const text = dice.chance(0.1) ? 'function' : `${dice.pick(['_', '.', ' ', '$', '\0', 'é'])}${dice.text()}`;
  const slug = dice.chance(0.15) ? dice.pick(brokenEncodings) : encodeURIComponent(text);
  const operation = dice.pick(operations);
  // a space may have any name that can be read and has no control character
  const own = text === 'function' || /^%|%00/.test(slug) ? [project, slug] : [slug, space];
  // where no pattern has room for two slugs and this suffix there is nothing either
  return request('slug', token, {
    ...operation,
    target: (operation.target as string).replace(path, `/${own.join('/')}`),
  });
}

export function badAddress(dice: Dice, token: string): BadRequest {
  const suffix = encodeURIComponent(dice.text());
  const target = dice.pick([
    `/${suffix}!`,
    `${path}/${suffix}!`,
    `${path}/_single_/${suffix}`,
    '//',
    `${path}/`,
  ]);
  if (dice.chance(0.5)) return request('address', token, { target });
  const wrong = dice.pick([
    { method: 'PUT', target: path },
    { method: 'PATCH', target: `${path}/_single_` },
    { method: 'DELETE', target: `${path}/update` },
    { method: 'GET', target: `${path}/set-structure` },
    { method: 'POST', target: `${path}/clear-records` },
    { method: 'BREW', target: path },
  ]);
  return request('method', token, wrong);
}

export function badToken(dice: Dice, _token: string): BadRequest {
  const printable = dice.text().replace(/[^\x20-\x7e]/g, 'x');
  const authorization = dice.pick([
    `Bearer ${printable}`,
    `Bearer wrong-token-${dice.below(1000)}`,
    `Basic ${Buffer.from(printable).toString('base64')}`,
    printable.replace(/^bearer /i, ''),
    'Bearer',
    `Bearer ${'x'.repeat(2000)}`,
  ]);
  return request('token', '', { ...dice.pick(operations), headers: [['authorization', authorization]] });
}

export function badHeader(dice: Dice, token: string): BadRequest {
  const printable = dice
    .text()
    .replace(/[^\x20-\x7e]/g, 'x')
    .trim();
  const name = dice.pick(['auto-create-project', 'auto-create-record-space', 'clear-all-spaces', 'mutate']);
  const value = dice.pick([`${printable}!`, 'TRUE', '1', 'true,true', '']);
  return request('header', token, { ...dice.pick(operations), headers: [[name, value]] });
}

export function noStructure(dice: Dice, token: string): BadRequest {
  return request('no structure', token, { ...dice.pick(operations), structure: null });
}

/** What a header can't carry goes out as an escape of JSON. */
function headerText(text: string): string {
  return text.replace(/\p{Cc}/gu, (char) => `\\u${char.charCodeAt(0).toString(16).padStart(4, '0')}`);
}

export function badStructureHeader(dice: Dice, token: string): BadRequest {
  const structure = badStructure(dice);
  return request('structure', token, {
    ...dice.pick(operations),
    structure: typeof structure === 'string' ? headerText(structure) : structure,
  });
}

export function badStructureBody(dice: Dice, token: string): BadRequest {
  const structure = badStructure(dice);
  const target = `${path}/set-structure`;
  return request('set-structure', token, {
    method: 'POST',
    target,
    structure: null,
    body: Buffer.from(structure as string),
  });
}

export function badSample(dice: Dice, token: string): BadRequest {
  const target = `${path}/${dice.pick(['set', 'get'])}-inferred-structure`;
  const body = dice.pick([
    () => otherKind(dice, ['object']),
    () => `{${JSON.stringify(`${dice.text()}\0`)}:1}`,
    () => `{${JSON.stringify(dice.text())}:${dice.json()},"a":null}`,
    () => '{}',
  ])();
  return request('sample', token, { method: 'POST', target, structure: null, body: json(body) });
}

export function badOptions(dice: Dice, token: string): BadRequest {
  const text = JSON.stringify(dice.text());
  const number = dice.pick([
    '0',
    '-1',
    '1.5',
    '1e308',
    '9007199254740992',
    '"one"',
    '1e999',
    'null',
    '[]',
    'true',
  ]);
  const options = dice.pick([
    () => '{"sort":',
    () => `${text}x`,
    () => otherKind(dice, ['object']),
    () => `{"paramRelationship":${otherKind(dice, ['null'])}}`,
    () => `{"pagination":{"limit":${number}}}`,
    () => `{"pagination":{"limit":1,"page":${number}}}`,
    () => `{"pagination":${otherKind(dice, ['object', 'null'])}}`,
    () => `{"sort":${otherKind(dice, ['object', 'null'])}}`,
    () => `{"sort":{"by":${text.slice(0, -1)}!"}}`,
    () => `{"sort":{"by":${otherKind(dice, ['string', 'null'])}}}`,
    () => `{"sort":{"by":"text","order":${text}}}`,
    () => '{"sort":{"by":"secret"}}',
  ])();
  const target = dice.pick([...reads, `${path}/search?searchText=a&searchableFields=text`]);
  return request('options', token, { target, headers: [['options', headerText(options)]] });
}

export function badConditions(dice: Dice, token: string): BadRequest {
  const text = dice.text();
  const pairs = dice.pick([
    () => `${encoded(dice, `${text}!`)}=${encoded(dice, text)}`,
    () => `number=${encoded(dice, `${text}x`)}`,
    () => `number=${dice.pick(['0x10', '1e999', 'NaN', '', '%20', '1_0', '--1'])}`,
    () => `flag=${encoded(dice, `${text}!`)}`,
    () => `list=${encoded(dice, otherKind(dice, ['array']))}`,
    () => `map=${encoded(dice, otherKind(dice, ['object']))}`,
    // the comma keeps a text that closes the list from making it right
    () => `list=${encoded(dice, `[,${text}`)}`,
    () => `createdAt=${encoded(dice, text)}`,
    () => `${dice.pick(['text', 'id'])}=${dice.pick(brokenEncodings)}`,
    () => `${dice.pick(brokenEncodings)}=a`,
    () => `secret=${encoded(dice, text)}`,
    () => `text[]=a&${encoded(dice, text)}[$ne]=1`,
    () => Array.from({ length: 101 + dice.below(1000) }, () => 'text=a').join('&'),
  ])();
  // a hashed field may stand beside another
  const beside = !pairs.startsWith('secret') && dice.chance(0.3) ? 'text=a&' : '';
  const target = `${dice.pick(reads)}?${beside}${pairs}`;
  return request('conditions', token, { target });
}

export function badSearch(dice: Dice, token: string): BadRequest {
  const text = encoded(dice, dice.text());
  const query = dice.pick([
    `searchText=${text}`,
    `searchableFields=text`,
    `searchText=${text}&searchableFields=${text}!`,
    `searchText=${text}&searchableFields=${dice.pick(['number', 'secret', 'id', 'list'])}`,
    `searchText=a&searchText=${text}&searchableFields=text`,
    `searchText=${'a'.repeat(1001)}&searchableFields=text`,
    `searchText=a&searchableFields=text&x${text}=1`,
    `searchText=${dice.pick(brokenEncodings)}&searchableFields=text`,
  ]);
  return request('search', token, { target: `${path}/search?${query}` });
}

/** An object with one value that does not fit, or a key that the structure lacks. */
function badObject(dice: Dice): string {
  const kinds: Record<string, string> = {
    TEXT: 'string',
    NUMBER: 'number',
    BOOLEAN: 'boolean',
    ARRAY: 'array',
    OBJECT: 'object',
  };
  const field = dice.pick(goodFields);
  const [key, value] = dice.pick([
    () => [`${dice.text()}!`, dice.json()] as const,
    () => {
      const value = otherKind(dice, [kinds[field.type] as string, 'null']);
      // an empty text is no value of a NUMBER, and its absence is no mistake
      return [field.name, field.type === 'NUMBER' && value === '""' ? 'true' : value] as const;
    },
    () => ['number', '1e999'] as const,
    () => ['text', `"${dice.pick(['\\ud800', '\\udc00a'])}"`] as const,
    () => ['list', `${'['.repeat(102)}${']'.repeat(102)}`] as const,
    () => [dice.pick(['id', 'createdAt', 'updatedAt', '_id']), '"x"'] as const,
    () => ['mustHave', 'null'] as const,
  ])();
  return `{"text":"x",${key === 'mustHave' ? '' : '"mustHave":"x",'}${JSON.stringify(key)}:${value}}`;
}

/** Bytes that are no JSON, or JSON of another kind. */
function badJson(dice: Dice, isList: boolean): Buffer {
  const good = isList ? `[${JSON.stringify(goodBody)}]` : JSON.stringify(goodBody);
  return dice.pick([
    () => json(good.slice(0, 1 + dice.below(good.length - 1))),
    () => json(otherKind(dice, [isList ? 'array' : 'object'])),
    () => Buffer.concat([json(good), dice.bytes(1 + dice.below(10)), Buffer.from('x')]),
    () => Buffer.from(good.replace('x', '\xff'), 'latin1'),
    () => Buffer.concat([Buffer.from([0xff, 0xfe]), Buffer.from(good, 'utf16le')]),
    () => json(isList ? '[]' : '{}'),
    () => json('['.repeat(1 + dice.below(20_000))),
    () => dice.bytes(1 + dice.below(200)).fill(0x80, 0, 1),
    () => Buffer.alloc(0),
  ])();
}

const writes = [
  { target: path, isList: true },
  { target: `${path}/_single_`, isList: false },
  { target: `${path}/update?text=x`, isList: false },
  { target: `${path}/update-by-id?id=x`, isList: false },
  { target: `${path}/set-key-values`, isList: false },
];

const chunkSizes = (dice: Dice): BadRequest['chunks'] =>
  dice.chance(0.2) ? Array.from({ length: 3 }, () => 1 + dice.below(500)) : null;

export function badValues(dice: Dice, token: string): BadRequest {
  const { target, isList } = dice.pick(writes);
  const object = badObject(dice);
  const body = json(isList ? `[${JSON.stringify(goodBody)},${object}]` : object);
  return request('values', token, { method: 'POST', target, body, chunks: chunkSizes(dice) });
}

export function badBody(dice: Dice, token: string): BadRequest {
  const { target, isList } = dice.pick(writes);
  const body = badJson(dice, isList);
  return request('JSON', token, {
    method: 'POST',
    target,
    body,
    chunks: body.byteLength === 0 ? null : chunkSizes(dice),
  });
}

export function unknownId(dice: Dice, token: string): BadRequest {
  const id = dice.chance(0.3) ? randomUUID() : dice.text();
  const query = dice.pick([`id=${encodeURIComponent(id)}`, '', `id=a&id=b`, `ID=${encodeURIComponent(id)}`]);
  const right = `${path}${dice.chance(0.5) ? '' : '/update-by-id'}?${query}`;
  if (!right.includes('update-by-id')) return request('id', token, { method: 'DELETE', target: right });
  return request('id', token, { method: 'POST', target: right, body: json({ text: 'changed' }) });
}

export function badLogin(dice: Dice, token: string): BadRequest {
  const resources = `{"mustExistSpaceStructures":[${goodStructure()}]}`;
  const structure = badStructure(dice);
  const email = JSON.stringify(`${dice.text()}${dice.below(1e9)}`);
  const [header, body] = dice.pick([
    () => [headerText(otherKind(dice, ['object'])), json({ text: 'x', secret: 'x' })] as const,
    () =>
      [
        `{"mustExistSpaceStructures":${headerText(otherKind(dice, ['array']))}}`,
        json({ text: 'x' }),
      ] as const,
    () => [`{"mustExistSpaceStructures":[${headerText(String(structure))}]}`, json({ text: 'x' })] as const,
    () => [resources, badJson(dice, false)] as const,
    () => [resources, json(`{"text":${email}}`)] as const,
    () => [resources, json(`{"secret":${email}}`)] as const,
    () => [resources, json(`{"text":${email},"secret":${otherKind(dice, ['string'])}}`)] as const,
    // hashing takes its time
    () => [resources, json(dice.chance(0.1) ? `{"text":${email},"secret":"x"}` : '{}')] as const,
  ])();
  const target = `/${project}/function/login`;
  return request('login', token, {
    method: 'POST',
    target,
    structure: null,
    body,
    headers: [['function-resources', header]],
  });
}

export function badOwner(dice: Dice, token: string): BadRequest {
  const printable = dice.text().replace(/[^\x20-\x7e]/g, 'x');
  const headers = dice.chance(0.1) ? [] : ([['token', `${printable}.x`]] as const);
  return request('token owner', token, { target: `${path}/get-token-owner`, headers });
}
