import { type Authenticate, assertGranted, type Principal } from '../../common/auth/authenticate.ts';
import { clearNotAllowed } from '../../common/errors/catalogue.ts';
import type { HttpRequest } from '../../common/http/http-types.ts';
import { continueWith } from '../../common/limits/continue-with.ts';
import { type Grants, lackOf } from '../../common/openapi/grants.ts';
import { type RecordHeaders, readRecordHeaders } from '../input/record-headers.ts';
import { readPath, readSpaceReference, type SpaceReference } from '../input/space-reference.ts';
import type { StructureCache } from '../input/structure-cache.ts';
import type { RecordStore } from '../store/record-store.ts';
import type { RecordSpace } from '../structure/record-space.ts';
import type { OperationIdentity } from '../structure/space-auth.ts';
import type { SpacePath, Structure } from '../structure/structure.ts';
import type { InFlightWrites } from './in-flight-writes.ts';
import { inferredReference } from './inferred-reference.ts';
import { clearProject, clearSpace } from './removals.ts';
import type { Spaces } from './spaces.ts';
import type { SpaceRequest } from './spaces-deps.ts';
import type { TableCatalogue } from './table-catalogue.ts';
import { LimitedViews, PartViews } from './token-views.ts';

/**
 * Throws 401 when a space's `authOptions` want a login token for an operation and the request has no good one, and 403 when
 * its access token is not granted the operation.
 */
export type Authorize = (args: {
  readonly request: HttpRequest;
  readonly operation: OperationIdentity;
  readonly space: RecordSpace;
  readonly projectSlug: string;
  /** Of the request's access token. */
  readonly grants: Grants | undefined;
}) => Promise<void>;

/**
 * The first steps of every record operation: the account, the structure, the space, and the space's authorisation.
 * @param reference where an operation names its space in another way than by path and headers
 */
export type OpenSpace = (
  request: HttpRequest,
  operation: OperationIdentity,
  reference?: () => SpaceReference | Promise<SpaceReference>,
  body?: () => Promise<unknown>,
) => RecordSpace | Promise<RecordSpace>;

/** Whether an operation brings records that rules of its space must hold for. */
export function storesRecords({ family }: OperationIdentity): boolean {
  return family === 'insert' || family === 'update';
}

export function createOpenSpace(deps: {
  readonly store: RecordStore;
  readonly authenticate: Authenticate;
  readonly authorize: Authorize;
  readonly structures: StructureCache;
  readonly spaces: Spaces;
  readonly catalogue: TableCatalogue;
  readonly writes: InFlightWrites;
  /** Of the operation that `clear: true` and `clear-all-spaces: true` are as well. */
  readonly clear: OperationIdentity;
  readonly allowClear: boolean;
}): OpenSpace {
  const { authenticate, authorize, structures, spaces, writes, allowClear } = deps;
  const views = new LimitedViews();
  const parts = new PartViews();

  const readReference = (
    { request, ownerId, headers }: Asked,
    body?: () => Promise<unknown>,
  ): SpaceReference | Promise<SpaceReference> => {
    const { inferStructure, usePreStoredStructure } = headers;
    if (!inferStructure || usePreStoredStructure || request.header('structure')) {
      return readSpaceReference(request, headers, structures);
    }
    const path = readPath(request.params);
    // where there is nothing to infer from, the stored one is meant
    if (body === undefined) return { path, structure: null };
    return body().then((parsed) => inferredReference(deps, { ownerId, path, body: parsed }, request.signal));
  };

  const openAs = (
    { userId: ownerId, grants }: Principal,
    [request, operation, reference, body]: Parameters<OpenSpace>,
  ): RecordSpace | Promise<RecordSpace> => {
    const asked = { request, operation, ownerId, grants, headers: readRecordHeaders(request) };
    const found = reference === undefined ? readReference(asked, body) : reference();
    return continueWith(found, (given) => openNamed(asked, given));
  };

  const openNamed = (
    asked: Asked,
    { path, structure }: SpaceReference,
  ): RecordSpace | Promise<RecordSpace> => {
    const { request, operation, ownerId } = asked;
    const { headers, clear, given, part } = allowedOf(asked, path, structure);
    if (headers.clearAllSpaces && !allowClear) throw clearNotAllowed('clear-all-spaces: true');
    if (clear && !allowClear) throw clearNotAllowed('clear: true in the structure');

    const stores = storesRecords(operation);
    const makes = operation.readsOnly !== true;
    const onOpened = stores ? (id: string): void => writes.enter(request, id) : undefined;
    const changes = makes || clear || headers.clearAllSpaces;
    const wanted = { ...path, ownerId, structure: given, headers, makes, stores, changes, onOpened };
    const known = spaces.resolveKnown(wanted);
    const isOpen = known !== null && !clear && !headers.clearAllSpaces && !hasRules(known);
    const space = isOpen ? known : openUnknown(asked, wanted, known, clear);
    return part === null ? space : continueWith(space, (found) => parts.of(found, part));
  };

  /** One that has to be found or made, has rules, or is to be cleared. */
  const openUnknown = async (
    { request, operation, grants, headers: { clearAllSpaces } }: Asked,
    wanted: SpaceRequest,
    known: RecordSpace | null,
    clear: boolean,
  ): Promise<RecordSpace> => {
    const space = known ?? (await spaces.resolve(wanted, request.signal));
    const asked = { request, space, projectSlug: wanted.projectSlug, grants };
    if (hasRules(space)) await authorize({ ...asked, operation });
    if (clearAllSpaces || clear) await authorize({ ...asked, operation: deps.clear });
    if (clearAllSpaces) {
      assertGranted(grants, 'delete', { project: wanted.projectSlug });
      await clearProject(deps, space.projectId, request.signal);
    } else if (clear && !space.missing) {
      await clearSpace(deps.store, space.id, request.signal);
      await spaces.assertInPlace(space, request.signal);
    }
    return space;
  };

  return (...args) =>
    continueWith(authenticate(args[0]), (principal) =>
      principal.limits === undefined && principal.grants === undefined
        ? openAs(principal, args)
        : continueWith(openAs(principal, args), (space) => views.of(space, principal)),
    );
}

/** Of a request that may not change structures. */
const changesNothing = { autoCreateProject: false, autoCreateRecordSpace: false, mutate: false } as const;

interface Asked {
  readonly request: HttpRequest;
  readonly operation: OperationIdentity;
  readonly ownerId: string;
  readonly grants: Grants | undefined;
  readonly headers: RecordHeaders;
}

/**
 * What a request may say of its space. Without the grant `structure` it gets the stored structure, or the `part` of it that
 * it names. Throws 403 when its token is not for the space: it may be named in another way than by the path.
 */
function allowedOf(
  { request, grants, headers }: Asked,
  { projectSlug: project, slug: space }: SpacePath,
  structure: Structure | null,
) {
  const clear = structure?.clear === true;
  if (grants === undefined) return { headers, clear, given: structure, part: null };
  assertGranted(grants, request.needs, { project, space });
  return lackOf(grants, 'structure', { project, space }) === null
    ? { headers, clear, given: structure, part: null }
    : { headers: { ...headers, ...changesNothing }, clear: false, given: null, part: structure };
}

function hasRules({ stored, structure }: RecordSpace): boolean {
  return stored.auth !== null || structure.auth !== null;
}
