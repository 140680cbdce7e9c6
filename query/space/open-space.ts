import type { Authenticate } from '../../common/auth/authenticate.ts';
import { clearNotAllowed } from '../../common/errors/catalogue.ts';
import type { HttpRequest } from '../../common/http/http-types.ts';
import { readRecordHeaders } from '../input/record-headers.ts';
import { readPath, readSpaceReference, type SpaceReference } from '../input/space-reference.ts';
import type { StructureCache } from '../input/structure-cache.ts';
import type { RecordSpace } from '../structure/record-space.ts';
import { type ClearDeps, clearProject, clearSpace } from './clear-records.ts';
import type { InFlightWrites } from './in-flight-writes.ts';
import { inferredReference } from './inferred-reference.ts';
import type { SpaceCatalogue } from './space-catalogue.ts';
import type { Spaces } from './spaces.ts';

/** What an operation does to the records of a space; null: it needs no login, or checks it itself. */
export type OperationFamily = 'find' | 'insert' | 'update' | 'delete';

/** What is asked of an operation before it runs. */
export interface OperationIdentity {
  readonly name: string;
  readonly family: OperationFamily | null;
  /** It makes no space where there is none, unless the space would begin with records. */
  readonly readsOnly?: true;
}

/** Throws 401 when a space's `authOptions` want a login token for an operation and the request has no good one. */
export type Authorize = (args: {
  readonly request: HttpRequest;
  readonly operation: OperationIdentity;
  readonly space: RecordSpace;
  readonly projectSlug: string;
}) => Promise<void>;

/**
 * The way that every record operation goes first: who asks, with which structure, for which space, and whether the
 * space lets them. @param reference where an operation names its space in another way than by path and headers
 */
export type OpenSpace = (
  request: HttpRequest,
  operation: OperationIdentity,
  reference?: () => SpaceReference | Promise<SpaceReference>,
  /** The parsed body; absent: the operation has none. */
  body?: () => Promise<unknown>,
) => Promise<RecordSpace>;

export function createOpenSpace(
  deps: ClearDeps & {
    readonly authenticate: Authenticate;
    readonly authorize: Authorize;
    readonly structures: StructureCache;
    readonly spaces: Spaces;
    readonly catalogue: SpaceCatalogue;
    readonly writes: InFlightWrites;
    /** Of the operation that `clear: true` and `clear-all-spaces: true` are as well. */
    readonly clear: OperationIdentity;
    readonly allowClear: boolean;
  },
): OpenSpace {
  const { authenticate, authorize, structures, spaces, writes, allowClear } = deps;

  /** By path and headers. */
  const readReference = async (
    request: HttpRequest,
    ownerId: string,
    body?: () => Promise<unknown>,
  ): Promise<SpaceReference> => {
    const { inferStructure, usePreStoredStructure } = readRecordHeaders(request);
    if (!inferStructure || usePreStoredStructure || request.header('structure')) {
      return readSpaceReference(request, structures);
    }
    const path = readPath(request.params);
    // where there is nothing to infer from, the stored one is meant
    if (body === undefined) return { path, structure: null };
    return inferredReference(deps, { ownerId, path, body: await body() }, request.signal);
  };

  return async (request, operation, reference, body) => {
    const { userId: ownerId } = await authenticate(request);
    const { path, structure } = await (reference?.() ?? readReference(request, ownerId, body));
    const headers = readRecordHeaders(request);
    if (headers.clearAllSpaces && !allowClear) throw clearNotAllowed('clear-all-spaces: true');
    const clear = structure?.clear === true;
    if (clear && !allowClear) throw clearNotAllowed('clear: true in the structure');

    const mayStore = operation.family === 'insert' || operation.family === 'update';
    const onOpened = (id: string): void => {
      if (mayStore) writes.enter(request, id);
    };
    const makes = operation.readsOnly !== true;
    const wanted = { ownerId, ...path, structure, headers, makes, stores: mayStore, onOpened };
    const space = spaces.resolveKnown(wanted) ?? (await spaces.resolve(wanted, request.signal));
    const asked = { request, space, projectSlug: path.projectSlug };
    if (space.stored.auth !== null || space.structure.auth !== null) await authorize({ ...asked, operation });
    if (headers.clearAllSpaces || clear) await authorize({ ...asked, operation: deps.clear });
    if (headers.clearAllSpaces) await clearProject(deps, space.projectId, request.signal);
    else if (clear && !space.missing) await clearSpace(deps, space, request.signal);
    return space;
  };
}
