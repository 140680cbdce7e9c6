import { clear } from './operations/clear.ts';
import { deleteOneById } from './operations/delete-one-by-id.ts';
import { find } from './operations/find.ts';
import { findOne } from './operations/find-one.ts';
import { getInferredStructure } from './operations/get-inferred-structure.ts';
import { getKeys } from './operations/get-keys.ts';
import { getOpenApi } from './operations/get-openapi.ts';
import { getTokenOwner } from './operations/get-token-owner.ts';
import { insert } from './operations/insert.ts';
import { insertOne } from './operations/insert-one.ts';
import { login } from './operations/login.ts';
import { missingFunction } from './operations/missing-function.ts';
import type { Operation } from './operations/operation.ts';
import { search } from './operations/search.ts';
import { setKeys } from './operations/set-keys.ts';
import { setInferredStructure, setStructure } from './operations/set-structure.ts';
import { updateOne } from './operations/update-one.ts';
import { updateOneById } from './operations/update-one-by-id.ts';

const space = '/:project/:space';

/** Reads whose conditions are in their body, because they are too long for an address. */
function inBody(path: string, posted: string): NonNullable<Operation['also']> {
  return [
    { method: 'QUERY', path },
    { method: 'POST', path: posted },
  ];
}

/** All operations: routes, authorisation, limits and what is refused follow from this table. */
export const operations: readonly Operation[] = [
  {
    name: 'find',
    family: 'find',
    readsOnly: true,
    method: 'GET',
    path: space,
    also: inBody(space, `${space}/_find_`),
    run: find,
  },
  {
    name: 'findOne',
    family: 'find',
    readsOnly: true,
    method: 'GET',
    path: `${space}/_single_`,
    also: inBody(`${space}/_single_`, `${space}/_single_/_find_`),
    run: findOne,
  },
  {
    name: 'search',
    family: 'find',
    readsOnly: true,
    method: 'GET',
    path: `${space}/search`,
    run: search,
  },
  {
    name: 'getKeys',
    family: 'find',
    readsOnly: true,
    method: 'GET',
    path: `${space}/get-key-values`,
    run: getKeys,
  },
  {
    name: 'getOpenApi',
    family: 'find',
    readsOnly: true,
    method: 'GET',
    path: `${space}/openapi.json`,
    run: getOpenApi,
  },
  { name: 'insert', family: 'insert', method: 'POST', path: space, body: 'records', run: insert },
  {
    name: 'insertOne',
    family: 'insert',
    method: 'POST',
    path: `${space}/_single_`,
    body: 'record',
    run: insertOne,
  },
  {
    name: 'updateOne',
    family: 'update',
    method: 'POST',
    path: `${space}/update`,
    body: 'record',
    run: updateOne,
  },
  {
    name: 'updateOneById',
    family: 'update',
    method: 'POST',
    path: `${space}/update-by-id`,
    body: 'record',
    run: updateOneById,
  },
  {
    name: 'setKeys',
    family: 'update',
    method: 'POST',
    path: `${space}/set-key-values`,
    body: 'record',
    run: setKeys,
  },
  { name: 'deleteOneById', family: 'delete', method: 'DELETE', path: space, run: deleteOneById },
  { name: 'clear', family: 'delete', method: 'DELETE', path: `${space}/clear-records`, run: clear },
  // these need no login, or check it themselves
  {
    name: 'getTokenOwner',
    family: null,
    readsOnly: true,
    method: 'GET',
    path: `${space}/get-token-owner`,
    run: getTokenOwner,
  },
  {
    name: 'login',
    family: null,
    method: 'POST',
    path: '/:project/function/login',
    body: 'record',
    run: login,
  },
  {
    name: 'sendOtp',
    family: null,
    method: 'POST',
    path: '/:project/function/send-otp',
    run: missingFunction('sendOtp'),
  },
  {
    name: 'sendPushNotifications',
    family: null,
    method: 'POST',
    path: '/:project/function/send-push-notification',
    run: missingFunction('sendPushNotifications'),
  },
  {
    name: 'setStructure',
    family: null,
    method: 'POST',
    path: `${space}/set-structure`,
    body: 'record',
    run: setStructure,
  },
  {
    name: 'setInferredStructure',
    family: null,
    method: 'POST',
    path: `${space}/set-inferred-structure`,
    body: 'record',
    run: setInferredStructure,
  },
  {
    name: 'getInferredStructure',
    family: null,
    method: 'POST',
    path: `${space}/get-inferred-structure`,
    body: 'record',
    run: getInferredStructure,
  },
];

/** What `scope` of a structure's `authOptions` may list: families, and operations that are of one. */
export const scopes: readonly string[] = [
  ...new Set([
    ...operations.flatMap(({ family }) => family ?? []),
    ...operations.flatMap(({ name, family }) => (family === null ? [] : name)),
  ]),
];
