import { curl, keeping } from '../../common/openapi/curl.ts';
import { exampleStructure } from '../structure/example-structure.ts';

const structure = exampleStructure;
const headers = { structure };
const ada = { name: 'Ada', age: 36 };
const credentials = { email: 'ada@example.com', password: 'correct horse' };
const users = {
  name: 'User',
  description: '',
  projectSlug: 'demo',
  slug: 'user',
  recordStructure: [
    { name: 'email', slug: 'email', type: 'TEXT', hashed: false },
    { name: 'password', slug: 'password', type: 'TEXT', hashed: true },
  ].map((field) => ({ ...field, required: true, unique: false, description: '', comment: '' })),
};

function insertOne(base: string): string {
  return curl({ url: `${base}/demo/people/_single_`, headers, body: ada });
}

function idOfNewRecord(base: string): string {
  return `${keeping('ID', 'id', insertOne(base))}\n`;
}

function login(base: string): string {
  return curl({
    url: `${base}/demo/function/login`,
    headers: { 'function-resources': { mustExistSpaceStructures: [users] } },
    body: credentials,
  });
}

function newUser(base: string): string {
  return `${curl({ url: `${base}/demo/user/_single_`, headers: { structure: users }, body: credentials })}\n`;
}

/** Commands to paste, by the names of the table of operations. */
export const samples: Readonly<Record<string, (base: string) => string>> = {
  find: (base) => curl({ url: `${base}/demo/people?name=Ada`, headers }),
  findOne: (base) => curl({ url: `${base}/demo/people/_single_?name=Ada`, headers }),
  search: (base) =>
    curl({
      url: `${base}/demo/people/search`,
      headers,
      more: ['-G', '-d searchText=ada', '-d searchableFields[]=name'],
    }),
  getKeys: (base) => curl({ url: `${base}/demo/people/get-key-values`, headers }),
  insert: (base) => curl({ url: `${base}/demo/people`, headers, body: [ada, { name: 'Grace', age: 45 }] }),
  insertOne,
  updateOne: (base) =>
    `${insertOne(base)}\n${curl({ url: `${base}/demo/people/update?name=Ada`, headers, body: { age: 37 } })}`,
  updateOneById: (base) =>
    idOfNewRecord(base) +
    curl({ url: `${base}/demo/people/update-by-id?id=$ID`, headers, body: { age: 37 } }),
  setKeys: (base) =>
    curl({
      url: `${base}/demo/people/set-key-values`,
      headers,
      body: ada,
    }),
  deleteOneById: (base) =>
    idOfNewRecord(base) + curl({ method: 'DELETE', url: `${base}/demo/people?id=$ID`, headers }),
  clear: (base) => curl({ method: 'DELETE', url: `${base}/demo/people/clear-records`, headers }),
  login: (base) => newUser(base) + login(base),
  getTokenOwner: (base) =>
    `${newUser(base)}${keeping('LOGIN_TOKEN', 'token', login(base))}\n` +
    curl({
      url: `${base}/demo/user/get-token-owner`,
      headers: { structure: users, token: '$LOGIN_TOKEN' },
    }),
  sendOtp: (base) => curl({ url: `${base}/demo/function/send-otp`, body: { email: 'ada@example.com' } }),
  sendPushNotifications: (base) =>
    curl({ url: `${base}/demo/function/send-push-notification`, body: { title: 'Hello' } }),
  setStructure: (base) => curl({ url: `${base}/demo/people/set-structure`, body: structure }),
  setInferredStructure: (base) =>
    curl({ url: `${base}/demo/samples/set-inferred-structure`, body: { firstName: 'Ada', age: 36 } }),
  getInferredStructure: (base) =>
    curl({ url: `${base}/demo/samples/get-inferred-structure`, body: { firstName: 'Ada', age: 36 } }),
  getOpenApi: (base) => `${insertOne(base)}\n${curl({ url: `${base}/demo/people/openapi.json` })}`,
};

/** The same with conditions in the body. */
export const bodySamples: Readonly<Record<string, (base: string, method: 'QUERY' | 'POST') => string>> = {
  find: (base, method) =>
    curl({
      url: `${base}/demo/people${method === 'POST' ? '/_find_' : ''}`,
      ...(method === 'QUERY' ? { method } : {}),
      headers,
      body: { name: 'Ada' },
    }),
  findOne: (base, method) =>
    curl({
      url: `${base}/demo/people/_single_${method === 'POST' ? '/_find_' : ''}`,
      ...(method === 'QUERY' ? { method } : {}),
      headers,
      body: { name: 'Ada' },
    }),
};
