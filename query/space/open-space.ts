import type { ReadLimitsOfToken } from '../../common/auth/access-tokens.ts';
import type { Authenticate } from '../../common/auth/authenticate.ts';
import { clearNotAllowed } from '../../common/errors/catalogue.ts';
import type { HttpRequest } from '../../common/http/http-types.ts';
import { continueWith } from '../../common/limits/continue-with.ts';
import { type RecordHeaders, readRecordHeaders } from '../input/record-headers.ts';
import { readPath, readSpaceReference, type SpaceReference } from '../input/space-reference.ts';
import type { StructureCache } from '../input/structure-cache.ts';
import type { RecordStore } from '../store/record-store.ts';
import type { RecordSpace } from '../structure/record-space.ts';
import type { OperationIdentity } from '../structure/space-auth.ts';
import type { InFlightWrites } from './in-flight-writes.ts';
import { inferredReference } from './inferred-reference.ts';
import { clearProject, clearSpace } from './removals.ts';
import type { Spaces } from './spaces.ts';
import type { SpaceRequest } from './spaces-deps.ts';
import type { TableCatalogue } from './table-catalogue.ts';

/** Throws 401 when a space's `authOptions` want a login token for an operation and the request has no good one. */
export type Authorize = (args: {
  readonly request: HttpRequest;
  readonly operation: OperationIdentity;
  readonly space: RecordSpace;
  readonly projectSlug: string;
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
    ownerId: string,
    [request, operation, reference, body]: Parameters<OpenSpace>,
  ): RecordSpace | Promise<RecordSpace> => {
    const asked = { request, operation, ownerId, headers: readRecordHeaders(request) };
    const found = reference === undefined ? readReference(asked, body) : reference();
    return continueWith(found, (given) => openNamed(asked, given));
  };

  const openNamed = (
    asked: Asked,
    { path, structure }: SpaceReference,
  ): RecordSpace | Promise<RecordSpace> => {
    const { request, operation, ownerId, headers } = asked;
    if (headers.clearAllSpaces && !allowClear) throw clearNotAllowed('clear-all-spaces: true');
    const clear = structure?.clear === true;
    if (clear && !allowClear) throw clearNotAllowed('clear: true in the structure');

    const { projectSlug, slug } = path;
    const stores = storesRecords(operation);
    const makes = operation.readsOnly !== true;
    const onOpened = stores ? (id: string): void => writes.enter(request, id) : undefined;
    const changes = makes || clear || headers.clearAllSpaces;
    const wanted = { ownerId, projectSlug, slug, structure, headers, makes, stores, changes, onOpened };
    const known = spaces.resolveKnown(wanted);
    if (known !== null && !clear && !headers.clearAllSpaces && !hasRules(known)) return known;
    return openUnknown(asked, wanted, known, clear);
  };

  /** One that has to be found or made, has rules, or is to be cleared. */
  const openUnknown = async (
    { request, operation, headers: { clearAllSpaces } }: Asked,
    wanted: SpaceRequest,
    known: RecordSpace | null,
    clear: boolean,
  ): Promise<RecordSpace> => {
    const space = known ?? (await spaces.resolve(wanted, request.signal));
    const asked = { request, space, projectSlug: wanted.projectSlug };
    if (hasRules(space)) await authorize({ ...asked, operation });
    if (clearAllSpaces || clear) await authorize({ ...asked, operation: deps.clear });
    if (clearAllSpaces) await clearProject(deps, space.projectId, request.signal);
    else if (clear && !space.missing) {
      await clearSpace(deps.store, space.id, request.signal);
      await spaces.assertInPlace(space, request.signal);
    }
    return space;
  };

  return (...args) =>
    continueWith(authenticate(args[0]), ({ userId, limits }) =>
      limits === undefined
        ? openAs(userId, args)
        : continueWith(openAs(userId, args), (space) => views.of(space, limits)),
    );
}

interface Asked {
  readonly request: HttpRequest;
  readonly operation: OperationIdentity;
  readonly ownerId: string;
  readonly headers: RecordHeaders;
}

function hasRules({ stored, structure }: RecordSpace): boolean {
  return stored.auth !== null || structure.auth !== null;
}

const mostViews = 1000;

/**
 * Spaces as tokens with limits of their own see them. One object for one view and its limits: what is kept, and what is
 * read for several requests at once, belongs to a view.
 */
export class LimitedViews {
  readonly #views = new WeakMap<RecordSpace, Map<string, RecordSpace>>();

  of(space: RecordSpace, limits: ReadLimitsOfToken): RecordSpace {
    const views = this.#views.get(space) ?? new Map<string, RecordSpace>();
    this.#views.set(space, views);
    const key = `${limits.maxRows} ${limits.timeout}`;
    const known = views.get(key);
    if (known !== undefined) return known;
    // a user can make and revoke tokens without end
    if (views.size >= mostViews) views.clear();
    const view = { ...space, limits };
    views.set(key, view);
    return view;
  }
}
