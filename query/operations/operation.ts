import type { Principal } from '#auth/authenticate.ts';
import type { LoginTokens } from '#auth/login-tokens.ts';
import type { RecordEvents } from '#kernel/record-events/record-event.ts';
import type { Candidates } from '#records/candidates.ts';
import type { RecordChanges } from '#records/record-changes.ts';
import type { RecordExports } from '#records/record-exports.ts';
import type { RecordFiles } from '#records/record-files.ts';
import type { RecordInserts } from '#records/record-inserts.ts';
import type { RecordReader } from '#records/record-reader.ts';
import type { RecordStore } from '#records/store/record-store.ts';
import type { RecordSpace } from '#records/structure/record-space.ts';
import type { Structure } from '#records/structure/structure.ts';
import type { HttpRequest, HttpResponse } from '#server/http/http-types.ts';
import type { JsonObject } from '#server/openapi/components.ts';
import type { Imports } from '../imports/jobs/imports.ts';
import type { StoredFiles } from '../imports/jobs/stored-files.ts';
import type { RequestConditions } from '../input/request-conditions.ts';
import type { SpaceReference } from '../input/space-reference.ts';
import type { StructureCache } from '../input/structure-cache.ts';
import type { LiveAddresses } from '../live/live-addresses.ts';
import type { OidcLogins } from '../login/oidc-logins.ts';
import type { SignUps } from '../login/sign-ups.ts';
import type { DescribedOperation } from '../openapi/describe-operation.ts';
import type { Authorize, BindSpace } from '../space/open-space.ts';
import type { Spaces } from '../space/spaces.ts';
import type { Timing } from './timing.ts';

/** Dependencies of operations. */
export interface QueryParts {
  readonly recordFiles: RecordFiles;
  readonly spaces: Spaces;
  readonly authorize: Authorize;
  readonly bind: BindSpace;
  readonly store: RecordStore;
  readonly reader: RecordReader;
  readonly exports: RecordExports;
  readonly records: RecordInserts;
  readonly changes: RecordChanges;
  readonly imports: Imports;
  readonly files: StoredFiles;
  readonly structures: StructureCache;
  readonly loginTokens: LoginTokens;
  readonly candidates: Candidates;
  readonly signUps: SignUps;
  /** For `Upserts`. Other writes publish their events themselves. */
  readonly events: RecordEvents;
  /** Answers a live query. @param requested its conditions */
  readonly live: (
    request: HttpRequest,
    requested: () => RequestConditions | Promise<RequestConditions>,
  ) => Promise<HttpResponse>;
  readonly addresses: LiveAddresses;
  readonly oidc: OidcLogins;
  /** The OpenAPI document of a space with this structure. */
  readonly describeSpace: (structure: Structure) => JsonObject;
}

/** One request for an operation. */
export interface OperationCall {
  readonly request: HttpRequest;
  /** Throws a 401 without a good access token. */
  authenticate(): Promise<Principal>;
  /**
   * Authenticates and authorises the request, and opens its space for this operation. Returns a promise only if it has
   * to wait; errors are thrown or rejected accordingly.
   * @param reference how the operation names its space, if not by path and headers; gets the owner's id
   */
  open(
    reference?: (ownerId: string) => SpaceReference | Promise<SpaceReference>,
  ): RecordSpace | Promise<RecordSpace>;
  /** Null: not requested. */
  readonly timing: Timing | null;
  /** The parsed JSON of the body, or an array of its lines, within the limit of the operation. */
  body(): Promise<unknown>;
  /** Called by operations whose number of written records is not in the body. */
  wrote(records: number): void;
}

/** A row of the table of operations. */
export interface Operation extends DescribedOperation {
  /** The setting that limits the body; absent: maxRecordBytes. */
  readonly bodyLimit?: 'maxRecordsBytes';
  /** False: no structure can be inferred from its body. */
  readonly isRecord?: false;
  readonly run: (call: OperationCall, deps: QueryParts) => HttpResponse | Promise<HttpResponse>;
}

/** An operation's file holds its work and its description; its address is in the table. */
export type OperationDefinition = Omit<
  Operation,
  'name' | 'family' | 'needs' | 'readsOnly' | 'method' | 'path' | 'also'
>;
