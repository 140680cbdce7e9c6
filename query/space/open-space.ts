import { actAsUser, actsAsUser } from '#auth/act-as-user.ts';
import { type Authenticate, assertGranted, type Principal } from '#auth/authenticate.ts';
import { ApiError } from '#kernel/errors/api-error.ts';
import { clearNotAllowed, notAllowed } from '#kernel/errors/catalogue.ts';
import { type Grants, inSpace, lackOf, ruledGrants } from '#kernel/grants.ts';
import { continueWith } from '#kernel/limits/continue-with.ts';
import type { RecordFiles } from '#records/record-files.ts';
import type { RecordStore } from '#records/store/record-store.ts';
import type { RecordSpace } from '#records/structure/record-space.ts';
import type { Family, OperationIdentity } from '#records/structure/space-auth.ts';
import type { SpacePath, Structure } from '#records/structure/structure.ts';
import { addressOwner } from '#server/http/address-owner.ts';
import type { HttpRequest } from '#server/http/http-types.ts';
import { type RecordHeaders, readRecordHeaders } from '../input/record-headers.ts';
import { readPath, readSpaceReference, type SpaceReference } from '../input/space-reference.ts';
import type { StructureCache } from '../input/structure-cache.ts';
import type { InFlightWrites } from './in-flight-writes.ts';
import { inferredReference } from './inferred-reference.ts';
import { clearProject, clearSpace, droppingAll } from './removals.ts';
import type { Spaces } from './spaces.ts';
import type { SpaceRequest } from './spaces-deps.ts';
import type { TableCatalogue } from './table-catalogue.ts';
import { LimitedViews, PartViews } from './token-views.ts';

/**
 * Throws 401 if a space's `authOptions` require a login token for an operation and the request has no valid one, and 403 if
 * its access token is not granted the operation.
 */
export type Authorize = (args: {
  readonly request: HttpRequest;
  readonly operation: OperationIdentity;
  readonly space: RecordSpace;
  readonly projectSlug: string;
  /** The grants of the request's access token. */
  readonly grants: Grants | undefined;
}) => Promise<void>;

/**
 * The space as its rules let a request see it (docs/security.md#rules). Throws 403 if they allow nobody, or do not exist, and
 * 401 for an invalid login token.
 * @param args.operation checked against the rules; anybody may log in
 */
export type BindSpace = (args: {
  readonly request: HttpRequest;
  readonly space: RecordSpace;
  readonly operation: Family | 'login';
  /** Counts the request for the rate limit of its user or address. */
  readonly admit?: Principal['admit'] | undefined;
}) => RecordSpace | Promise<RecordSpace>;

const toChangeStructure = inSpace('structure');
const toClearAll = { grant: 'delete', touches: 'all spaces' } as const;

/**
 * The first steps of every record operation: the account, the structure, the space, and the space's authorisation.
 * @param reference how an operation names its space, if not by path and headers
 */
export type OpenSpace = (
  request: HttpRequest,
  operation: OperationIdentity,
  reference?: (ownerId: string) => SpaceReference | Promise<SpaceReference>,
  body?: () => Promise<unknown>,
) => RecordSpace | Promise<RecordSpace>;

/** Operations that need no login, and write a user. */
const stepsToLogin: readonly string[] = ['signUp', 'verifyEmail', 'resetPassword', 'oidcLogin'];

/** Whether an operation writes records that the rules of a structure must hold for. An import writes after its request. */
export function storesRecords({ family, name }: OperationIdentity): boolean {
  if (family === null) return stepsToLogin.includes(name);
  return (family === 'insert' && name !== 'import') || family === 'update';
}

interface OpenSpaceDeps {
  readonly store: RecordStore;
  readonly authenticate: Authenticate;
  readonly authorize: Authorize;
  readonly bind: BindSpace;
  readonly structures: StructureCache;
  readonly spaces: Spaces;
  readonly catalogue: TableCatalogue;
  readonly writes: InFlightWrites;
  readonly recordFiles: RecordFiles;
  /** The operation that authorises `clear: true` and `clear-all-spaces: true`. */
  readonly clear: OperationIdentity;
  readonly allowClear: boolean;
}

export function createOpenSpace(deps: OpenSpaceDeps): OpenSpace {
  const { authenticate, authorize, spaces, writes, allowClear } = deps;
  const views = new LimitedViews();
  const parts = new PartViews();

  const openAs = (
    { userId: ownerId, grants }: Principal,
    [request, operation, reference, body]: Parameters<OpenSpace>,
    isBound: boolean,
  ): RecordSpace | Promise<RecordSpace> => {
    const opening = { request, operation, ownerId, grants, headers: readRecordHeaders(request), isBound };
    const found = reference === undefined ? referenceOf(deps, opening, body) : reference(ownerId);
    return continueWith(found, (named) => openNamed(opening, named));
  };

  const openNamed = (
    opening: OpenRequest,
    { path, structure }: SpaceReference,
  ): RecordSpace | Promise<RecordSpace> => {
    const { request, operation, ownerId } = opening;
    const { headers, clear, declared, part } = allowedOf(opening, path, structure);
    if (headers.clearAllSpaces && opening.isBound) throw nobodyMay('delete');
    if (headers.clearAllSpaces && !allowClear) throw clearNotAllowed('clear-all-spaces: true');
    if (clear && !allowClear) throw clearNotAllowed('clear: true in the structure');
    if (headers.clearAllSpaces) assertGranted(opening.grants, toClearAll, { project: path.projectSlug });

    const stores = storesRecords(operation);
    const makes = operation.readsOnly !== true;
    const onOpened = stores ? (id: string): void => writes.enter(request, id) : undefined;
    const changes = makes || clear || headers.clearAllSpaces;
    const { projectSlug, slug } = path;
    const wanted = {
      ownerId,
      projectSlug,
      slug,
      structure: declared,
      headers,
      makes,
      stores,
      changes,
      onOpened,
    };
    const known = spaces.resolveKnown(wanted);
    const isOpen = known !== null && !clear && !headers.clearAllSpaces && !hasRules(known);
    const space = isOpen ? known : openUnknown(opening, wanted, known, clear);
    if (part === null) return space;
    return continueWith(space, (found) => (isOutside(opening, found) ? found : parts.of(found, part)));
  };

  /** Opens a space that must be looked up, made or cleared, or that has rules. */
  const openUnknown = async (
    opening: OpenRequest,
    wanted: SpaceRequest,
    known: RecordSpace | null,
    clear: boolean,
  ): Promise<RecordSpace> => {
    const { request, operation, grants, headers } = opening;
    const { clearAllSpaces } = headers;
    const space = known ?? (await spaces.resolve(wanted, request.signal));
    if (isOutside(opening, space)) return space;
    const access = { request, space, projectSlug: wanted.projectSlug, grants };
    if (hasRules(space)) await authorize({ ...access, operation });
    if (clearAllSpaces || clear) await authorize({ ...access, operation: deps.clear });
    if (clearAllSpaces) {
      await clearProject(deps, space.projectId, request.signal);
    } else if (clear && !space.missing) {
      const clearAll = (): Promise<void> => clearSpace(deps.store, space.id, request.signal);
      await droppingAll(deps.recordFiles, space, clearAll, request.signal);
      await spaces.assertInPlace(space, request.signal);
    }
    return space;
  };

  // a named inner function costs half a microsecond where TypeScript is compiled as it is loaded
  const openBoundAs = (principal: Principal, args: Parameters<OpenSpace>) =>
    openBound(deps.bind, principal, args, () =>
      continueWith(openAs(principal, args, true), (space) => views.of(space, principal)),
    );

  return (...args) =>
    continueWith(authenticate(args[0], 'by rules'), (principal) => {
      const { limits, grants } = principal;
      if (grants?.publishable || args[0].header(actAsUser) !== undefined)
        if (grants?.publishable || actsAsUser(args[0], ruledGrants)) return openBoundAs(principal, args);
      return limits === undefined && grants === undefined
        ? openAs(principal, args, false)
        : continueWith(openAs(principal, args, false), (space) => views.of(space, principal));
    });
}

/** The space as its rules let the request see it. A space without rules looks like a missing one. */
function openBound(
  bind: BindSpace,
  principal: Principal,
  [request, { name }]: Parameters<OpenSpace>,
  find: () => RecordSpace | Promise<RecordSpace>,
): RecordSpace | Promise<RecordSpace> {
  // logins, and the steps before them, which check themselves who it is
  const isLogin = request.needs?.touches === 'named space' || name === 'oidcStart';
  const operation = isLogin ? 'login' : (request.needs?.grant as Family);
  const count = principal.admit;
  let isCounted = false;
  const admit =
    count &&
    ((sender: string) => {
      if (isCounted) return undefined;
      isCounted = true;
      return count(sender);
    });
  try {
    const opened = continueWith(find(), (space) => bind({ request, space, operation, admit }));
    if (!(opened instanceof Promise)) return opened;
    return opened.catch((error) => refuse(error, { request, operation, admit }));
  } catch (error) {
    return refuse(error, { request, operation, admit });
  }
}

async function refuse(
  error: unknown,
  { request, operation, admit }: Omit<Parameters<BindSpace>[0], 'space'>,
): Promise<never> {
  await admit?.(addressOwner(request.address));
  throw error instanceof ApiError && error.status === 404 ? nobodyMay(operation) : error;
}

type ReferenceParts = Parameters<typeof inferredReference>[0] & { readonly structures: StructureCache };

/** The space that a request names by path and headers. */
function referenceOf(
  deps: ReferenceParts,
  { request, ownerId, headers, isBound }: OpenRequest,
  body?: () => Promise<unknown>,
): SpaceReference | Promise<SpaceReference> {
  const { inferStructure, usePreStoredStructure } = headers;
  // a bound request can't change the structure, so it need not send it
  if (isBound && !request.header('structure')) return { path: readPath(request.params), structure: null };
  if (!inferStructure || usePreStoredStructure || request.header('structure'))
    return readSpaceReference(request, headers, deps.structures);
  const path = readPath(request.params);
  // without a body to infer from, the stored structure is used
  if (body === undefined) return { path, structure: null };
  return body().then((parsed) => inferredReference(deps, { ownerId, path, body: parsed }, request.signal));
}

/** The verbs of messages about rules. */
export const verbs = { find: 'find', insert: 'insert', update: 'change', delete: 'delete' } as const;

/** The same error if the space or the project does not exist: it must not reveal which. */
export function nobodyMay(operation: Parameters<BindSpace>[0]['operation']): ApiError {
  const what = operation === 'login' ? 'log in' : `${verbs[operation]} records`;
  return notAllowed(`The rules of the record space let nobody ${what}, or the space does not exist`);
}

const changesNothing = { autoCreateProject: false, autoCreateRecordSpace: false, mutate: false } as const;
const headersWithoutChanges = new WeakMap<RecordHeaders, RecordHeaders>();

/** The headers of a request that may not change structures. Cached, as most requests have the same ones. */
function withoutChanges(headers: RecordHeaders): RecordHeaders {
  const known = headersWithoutChanges.get(headers);
  if (known !== undefined) return known;
  const changed = { ...headers, ...changesNothing };
  headersWithoutChanges.set(headers, changed);
  return changed;
}

interface OpenRequest {
  readonly request: HttpRequest;
  readonly operation: OperationIdentity;
  readonly ownerId: string;
  readonly grants: Grants | undefined;
  /** Whether rules bind the request. */
  readonly isBound: boolean;
  readonly headers: RecordHeaders;
}

/**
 * What a request may declare about its space. Without the grant `structure`, or bound by rules, it gets the stored structure,
 * or the `part` of it that it names. Throws 403 if its token is not for the space, which the path need not name.
 */
function allowedOf(
  { request, grants, headers, isBound }: OpenRequest,
  { projectSlug: project, slug: space }: SpacePath,
  structure: Structure | null,
) {
  const clear = structure?.clear === true;
  if (grants === undefined && !isBound) return { headers, clear, declared: structure, part: null };
  assertGranted(grants, request.needs && inSpace(request.needs.grant), { project, space });
  const may =
    !isBound && (grants === undefined || lackOf(grants, toChangeStructure, { project, space }) === null);
  return may
    ? { headers, clear, declared: structure, part: null }
    : { headers: withoutChanges(headers), clear: false, declared: null, part: structure };
}

/** Whether rules bind the request, but the space has none: then the request must learn nothing about it. */
function isOutside({ isBound }: OpenRequest, { rules }: RecordSpace): boolean {
  return isBound && rules === undefined;
}

function hasRules({ stored, structure }: RecordSpace): boolean {
  return stored.auth !== null || structure.auth !== null;
}
