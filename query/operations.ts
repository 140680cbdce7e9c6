import { inSpace } from '#kernel/grants.ts';
import { livePath } from './live/live-route.ts';
import { aggregate } from './operations/aggregate.ts';
import { clear } from './operations/clear.ts';
import { count } from './operations/count.ts';
import { exportAs, exportFormats } from './operations/export-as.ts';
import { find, findOne } from './operations/find.ts';
import { getOpenApi } from './operations/get-openapi.ts';
import { importFile } from './operations/import-file.ts';
import { insert, insertOne } from './operations/insert.ts';
import { getKeys, setKeys } from './operations/keys.ts';
import { liveAddress } from './operations/live-address.ts';
import { getTokenOwner, login } from './operations/login.ts';
import { deleteMany, updateMany } from './operations/many-records.ts';
import { sendOtp, sendPushNotifications } from './operations/missing-function.ts';
import { oidcLogin, oidcStart } from './operations/oidc-login.ts';
import { deleteOneById, updateOneById } from './operations/one-by-id.ts';
import type { Operation, OperationDefinition } from './operations/operation.ts';
import { resetPassword } from './operations/reset-password.ts';
import { search } from './operations/search.ts';
import { logout, refreshLogin } from './operations/sessions.ts';
import { signUp } from './operations/sign-up.ts';
import { getInferredStructure, setInferredStructure, setStructure } from './operations/structures.ts';
import { updateOne } from './operations/update-one.ts';
import { verifyEmail } from './operations/verify-email.ts';

const space = '/:project/:space';
const single = `${space}/_single_`;
const counted = `${space}/_count_`;
const groups = `${space}/_aggregate_`;
const call = '/:project/function';

const reads = { family: 'find', needs: inSpace('find'), readsOnly: true, method: 'GET' } as const;
const inserts = { family: 'insert', needs: inSpace('insert'), method: 'POST' } as const;
const updates = { family: 'update', needs: inSpace('update'), method: 'POST' } as const;
const deletes = { family: 'delete', needs: inSpace('delete'), method: 'DELETE' } as const;
/** A login needs no login token, and a header names its space. So do the steps before it. */
const logins = { family: null, needs: { grant: 'find', touches: 'named space' }, method: 'POST' } as const;
const signUps = { ...logins, needs: { grant: 'insert', touches: 'named space' } } as const;
const proofs = { ...logins, needs: { grant: 'update', touches: 'named space' } } as const;
const loggedIn = { ...logins, readsOnly: true } as const;
const missing = { family: null, needs: { grant: 'find', touches: 'beside spaces' }, method: 'POST' } as const;
const structures = { family: null, needs: inSpace('structure'), method: 'POST' } as const;

/** Conditions in a body, because they are too long for an address. */
function byQuery(path: string) {
  return { method: 'QUERY', path } as const;
}

function inBody(path: string): NonNullable<Operation['also']> {
  return [byQuery(path), { method: 'POST', path: `${path}/_find_` }];
}

type Traits = Pick<Operation, 'family' | 'needs' | 'method' | 'readsOnly' | 'also'>;

function row(name: string, traits: Traits, path: string, definition: OperationDefinition): Operation {
  return { name, ...traits, path, ...definition };
}

/** All operations: routes, authorisation, limits, refusals and the description of the API follow from this table. */
export const operations: readonly Operation[] = [
  row('find', { ...reads, also: inBody(space) }, space, find),
  row('findOne', { ...reads, also: inBody(single) }, single, findOne),
  row('search', reads, `${space}/search`, search),
  row('count', { ...reads, also: [byQuery(counted)] }, counted, count),
  row('aggregate', { ...reads, method: 'POST', also: [byQuery(groups)] }, groups, aggregate),
  row('liveAddress', { ...reads, method: 'POST' }, livePath, liveAddress),
  row('getKeys', reads, `${space}/get-key-values`, getKeys),
  ...exportFormats.map((format) => {
    const path = `${space}/_export_.${format}`;
    return row(
      `export${format[0]?.toUpperCase()}${format.slice(1)}`,
      { ...reads, also: [byQuery(path)] },
      path,
      exportAs(format),
    );
  }),
  row('getOpenApi', reads, `${space}/openapi.json`, getOpenApi),
  row('insert', inserts, space, insert),
  row('insertOne', inserts, single, insertOne),
  row('import', inserts, `${space}/_import_`, importFile),
  row('updateOne', updates, `${space}/update`, updateOne),
  row('updateOneById', updates, `${space}/update-by-id`, updateOneById),
  row('updateMany', updates, `${space}/_update_`, updateMany),
  row('setKeys', updates, `${space}/set-key-values`, setKeys),
  row('deleteOneById', deletes, space, deleteOneById),
  row('deleteMany', { ...deletes, method: 'POST' }, `${space}/_delete_`, deleteMany),
  row('clear', deletes, `${space}/clear-records`, clear),
  row('getTokenOwner', { ...reads, family: null }, `${space}/get-token-owner`, getTokenOwner),
  row('login', logins, `${call}/login`, login),
  row('signUp', signUps, `${call}/sign-up`, signUp),
  row('verifyEmail', proofs, `${call}/verify-email`, verifyEmail),
  row('resetPassword', proofs, `${call}/reset-password`, resetPassword),
  row('refreshLogin', loggedIn, `${call}/refresh-login`, refreshLogin),
  row('logout', loggedIn, `${call}/logout`, logout),
  row('oidcStart', { ...reads, family: null, method: 'POST' }, `${space}/_oidc_/start`, oidcStart),
  row('oidcLogin', logins, `${call}/oidc-login`, oidcLogin),
  row('sendOtp', missing, `${call}/send-otp`, sendOtp),
  row('sendPushNotifications', missing, `${call}/send-push-notification`, sendPushNotifications),
  row('setStructure', structures, `${space}/set-structure`, setStructure),
  row('setInferredStructure', structures, `${space}/set-inferred-structure`, setInferredStructure),
  row('getInferredStructure', structures, `${space}/get-inferred-structure`, getInferredStructure),
];

/** Names that `scope` of a structure's `authOptions` may list: families, and the operations in them. */
export const scopes: readonly string[] = [
  ...new Set([
    ...operations.flatMap(({ family }) => family ?? []),
    ...operations.flatMap(({ name, family }) => (family === null ? [] : name)),
  ]),
];
