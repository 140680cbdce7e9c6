import type { RecordSpace } from '#records/structure/record-space.ts';
import type { OperationIdentity } from '#records/structure/space-auth.ts';
import type { RequestConditions } from '../input/request-conditions.ts';
import type { LiveRequest } from './live-request.ts';
import type { LiveStream } from './live-stream.ts';

/** What a stream was asked for. */
export interface OpenStream {
  readonly stream: LiveStream;
  readonly request: LiveRequest;
  readonly operation: OperationIdentity;
  readonly asked: RequestConditions;
  /** The space as it was seen last. */
  view: RecordSpace | null;
  /** Whether a login token was given: what its user may see changes with his record. */
  isOfUser: boolean;
}
