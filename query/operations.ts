import { aggregate } from './operations/aggregate.ts';
import { clear } from './operations/clear.ts';
import { count } from './operations/count.ts';
import { find, findOne } from './operations/find.ts';
import { getOpenApi } from './operations/get-openapi.ts';
import { getTokenOwner } from './operations/get-token-owner.ts';
import { insert, insertOne } from './operations/insert.ts';
import { getKeys, setKeys } from './operations/keys.ts';
import { login } from './operations/login.ts';
import { deleteMany, updateMany } from './operations/many-records.ts';
import { sendOtp, sendPushNotifications } from './operations/missing-function.ts';
import { deleteOneById, updateOneById } from './operations/one-by-id.ts';
import type { Operation } from './operations/operation.ts';
import { search } from './operations/search.ts';
import { getInferredStructure, setInferredStructure, setStructure } from './operations/structures.ts';
import { updateOne } from './operations/update-one.ts';

const space = '/:project/:space';
const single = `${space}/_single_`;
const call = '/:project/function';

const reads = { family: 'find', readsOnly: true, method: 'GET' } as const;
const inserts = { family: 'insert', method: 'POST' } as const;
const updates = { family: 'update', method: 'POST' } as const;
const deletes = { family: 'delete', method: 'DELETE' } as const;
/** They need no login, or check it themselves. */
const others = { family: null, method: 'POST' } as const;

/** Reads whose conditions are in their body, because they are too long for an address. */
function inBody(path: string): NonNullable<Operation['also']> {
  return [
    { method: 'QUERY', path },
    { method: 'POST', path: `${path}/_find_` },
  ];
}

/** All operations: routes, authorisation, limits, what is refused and the description of the API follow from this table. */
export const operations: readonly Operation[] = [
  { name: 'find', ...reads, path: space, also: inBody(space), ...find },
  { name: 'findOne', ...reads, path: single, also: inBody(single), ...findOne },
  { name: 'search', ...reads, path: `${space}/search`, ...search },
  {
    name: 'count',
    ...reads,
    path: `${space}/_count_`,
    also: [{ method: 'QUERY', path: `${space}/_count_` }],
    ...count,
  },
  {
    ...{ name: 'aggregate', ...reads, method: 'POST', path: `${space}/_aggregate_` },
    ...{ also: [{ method: 'QUERY', path: `${space}/_aggregate_` }], ...aggregate },
  },
  { name: 'getKeys', ...reads, path: `${space}/get-key-values`, ...getKeys },
  { name: 'getOpenApi', ...reads, path: `${space}/openapi.json`, ...getOpenApi },
  { name: 'insert', ...inserts, path: space, ...insert },
  { name: 'insertOne', ...inserts, path: single, ...insertOne },
  { name: 'updateOne', ...updates, path: `${space}/update`, ...updateOne },
  { name: 'updateOneById', ...updates, path: `${space}/update-by-id`, ...updateOneById },
  { name: 'updateMany', ...updates, path: `${space}/_update_`, ...updateMany },
  { name: 'setKeys', ...updates, path: `${space}/set-key-values`, ...setKeys },
  { name: 'deleteOneById', ...deletes, path: space, ...deleteOneById },
  { name: 'deleteMany', ...deletes, method: 'POST', path: `${space}/_delete_`, ...deleteMany },
  { name: 'clear', ...deletes, path: `${space}/clear-records`, ...clear },
  { name: 'getTokenOwner', ...reads, family: null, path: `${space}/get-token-owner`, ...getTokenOwner },
  { name: 'login', ...others, path: `${call}/login`, ...login },
  { name: 'sendOtp', ...others, path: `${call}/send-otp`, ...sendOtp },
  {
    name: 'sendPushNotifications',
    ...others,
    path: `${call}/send-push-notification`,
    ...sendPushNotifications,
  },
  { name: 'setStructure', ...others, path: `${space}/set-structure`, ...setStructure },
  {
    name: 'setInferredStructure',
    ...others,
    path: `${space}/set-inferred-structure`,
    ...setInferredStructure,
  },
  {
    name: 'getInferredStructure',
    ...others,
    path: `${space}/get-inferred-structure`,
    ...getInferredStructure,
  },
];

/** What `scope` of a structure's `authOptions` may list: families, and operations that are of one. */
export const scopes: readonly string[] = [
  ...new Set([
    ...operations.flatMap(({ family }) => family ?? []),
    ...operations.flatMap(({ name, family }) => (family === null ? [] : name)),
  ]),
];
