import type { Principal } from '#auth/authenticate.ts';
import type { LoginTokens } from '#auth/login-tokens.ts';
import type { RecordEvents } from '#kernel/record-events/record-event.ts';
import type { Candidates } from '#records/candidates.ts';
import type { RecordChanges } from '#records/record-changes.ts';
import type { RecordExports } from '#records/record-exports.ts';
import type { RecordInserts } from '#records/record-inserts.ts';
import type { RecordReader } from '#records/record-reader.ts';
import type { RecordStore } from '#records/store/record-store.ts';
import type { RecordSpace } from '#records/structure/record-space.ts';
import type { Structure } from '#records/structure/structure.ts';
import type { HttpRequest, HttpResponse } from '#server/http/http-types.ts';
import type { JsonObject } from '#server/openapi/components.ts';
import type { Imports } from '../imports/jobs/imports.ts';
import type { StoredFiles } from '../imports/jobs/stored-files.ts';
import type { AskedConditions } from '../input/asked-conditions.ts';
import type { SpaceReference } from '../input/space-reference.ts';
import type { StructureCache } from '../input/structure-cache.ts';
import type { LiveAddresses } from '../live/live-addresses.ts';
import type { DescribedOperation } from '../openapi/describe-operation.ts';
import type { Authorize, BindSpace } from '../space/open-space.ts';
import type { Spaces } from '../space/spaces.ts';
import type { Timing } from './timing.ts';

/** Dependencies of operations. */
export interface QueryParts {
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
  /** For `Upserts`. Writes tell it by themselves. */
  readonly events: RecordEvents;
  /** Answers a find that stays open. @param asked its conditions */
  readonly live: (
    request: HttpRequest,
    asked: () => AskedConditions | Promise<AskedConditions>,
  ) => Promise<HttpResponse>;
  readonly addresses: LiveAddresses;
  /** The OpenAPI document of a space with this structure. */
  readonly describeSpace: (structure: Structure) => JsonObject;
}

/** One request for an operation. */
export interface OperationCall {
  readonly request: HttpRequest;
  /** Throws a 401 without a good access token. */
  authenticate(): Promise<Principal>;
  /**
   * Opens the space of the request for this operation; it authenticates and authorises. A promise only where it has to
   * wait; that rejects with the errors that are thrown otherwise.
   * @param reference where the operation names its space in another way than by path and headers; it is given the owner
   */
  open(
    reference?: (ownerId: string) => SpaceReference | Promise<SpaceReference>,
  ): RecordSpace | Promise<RecordSpace>;
  /** Null: it was not asked for. */
  readonly timing: Timing | null;
  /** The parsed JSON of the body, within the limit of the operation. */
  body(): Promise<unknown>;
  /** To be called by an operation that alone knows the number of its written records. */
  wrote(records: number): void;
}

/** A line of the table of operations. */
export interface Operation extends DescribedOperation {
  /** Which limit a body has; absent: that of one record. */
  readonly bodyLimit?: 'maxRecordsBytes';
  /** No structure can be inferred from its body. */
  readonly isRecord?: false;
  readonly run: (call: OperationCall, deps: QueryParts) => HttpResponse | Promise<HttpResponse>;
}

/** The part of an operation in its file: its work and its description. Its address is in the table. */
export type OperationDefinition = Omit<
  Operation,
  'name' | 'family' | 'needs' | 'readsOnly' | 'method' | 'path' | 'also'
>;
