import type { RecordSpace } from '#records/structure/record-space.ts';
import type { OperationIdentity } from '#records/structure/space-auth.ts';
import type { RequestConditions } from '../input/request-conditions.ts';
import type { LiveRequest } from './live-request.ts';
import type { LiveStream } from './live-stream.ts';

/** A stream, its request, and the space as it last saw it. */
export interface OpenStream {
  readonly stream: LiveStream;
  readonly request: LiveRequest;
  readonly operation: OperationIdentity;
  readonly requested: RequestConditions;
  /** Null: the space is not open yet. */
  view: RecordSpace | null;
  /** Whether the request has a login token: what its user may see depends on the user's record. */
  isOfUser: boolean;
}
