import type { RecordHeaders } from '../input/record-headers.ts';
import type { SpacePath, Structure } from '../structure/structure.ts';

/** Of which space a request speaks, and how. */
export interface SpaceRequest extends SpacePath {
  readonly ownerId: string;
  /** Null: the stored structure is to be used. */
  readonly structure: Structure | null;
  readonly headers: RecordHeaders;
  /** Whether a space that does not exist is made; one that begins with records always is. */
  readonly makes: boolean;
  /** Whether it may write values of records. */
  readonly stores: boolean;
  /** Called with the space's id in the moment in which it is decided which structure counts. */
  readonly onOpened?: ((spaceId: string) => void) | undefined;
}
