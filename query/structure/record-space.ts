import type { ReadLimitsOfToken } from '../../common/auth/access-tokens.ts';
import type { Grants } from '../../common/openapi/grants.ts';
import type { Structure } from './structure.ts';

/** A record space as one request sees it. */
export interface RecordSpace {
  /** Id of its records, and of their cached results: another one after the space was dropped and made again. */
  readonly id: string;
  /** Id of its row in the catalogue: UUIDv5 of owner, project slug and space slug. */
  readonly catalogueId: string;
  readonly ownerId: string;
  readonly projectId: string;
  /**
   * The request's structure, or the stored one when the request asks for it. Every field has its slot, and is
   * required and unique as the stored structure says.
   */
  readonly structure: Structure;
  /** The catalogue's structure. */
  readonly stored: Structure;
  /** Limits of the request's access token, in place of READ_MAX_ROWS and READ_TIMEOUT_MS. */
  readonly limits?: ReadLimitsOfToken;
  /** What that token is for; absent: everything. */
  readonly grants?: Grants;
  /** It does not exist: there is nothing to read, and nothing is made for it. */
  readonly missing?: true;
}
