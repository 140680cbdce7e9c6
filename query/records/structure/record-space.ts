import type { ReadLimitsOfToken } from '#auth/access-tokens.ts';
import type { Grants } from '#kernel/grants.ts';
import type { StoredValue } from '../types/field-type.ts';
import type { Structure } from './structure.ts';

/** Conditions (input/parse-conditions.ts), which this room does not know. */
export type RuleConditions = object;

/** The rules of a space, resolved for the user of a request. */
export interface Bound {
  /** Id of the user's record in the space of users; null: nobody has logged in. */
  readonly user: string | null;
  /** The slug of the space of users. */
  readonly users: string;
  /** Conditions that records have to meet; null: nobody may. */
  readonly find: RuleConditions | null;
  readonly insert: RuleConditions | null;
  readonly update: RuleConditions | null;
  readonly delete: RuleConditions | null;
  /**
   * Values of new records by the slugs of their fields, whatever the request says; null: no value, because nobody is logged
   * in.
   */
  readonly set: ReadonlyMap<string, StoredValue | null>;
  /** Whether the rules depend on the current time. */
  readonly isTimed: boolean;
  /** Slugs of fields whose values come only from `set` and defaults. */
  readonly readonly: readonly string[];
}

/** A record space as one request sees it. */
export interface RecordSpace {
  /** Id of its records, and of their cached results. It changes when the space is dropped and made again. */
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
  /** The rules of the space, as JSON (login/rules.ts); absent: none. */
  readonly rules?: string;
  /** Present: rules bind the request, which may do only what they allow. */
  readonly bound?: Bound;
  /** The space does not exist: there is nothing to read, and it is not created. */
  readonly missing?: true;
}
