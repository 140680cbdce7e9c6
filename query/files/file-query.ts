import type { StoredObject } from '#objects/object-store.ts';
import type { NextPage } from '#records/next-page.ts';
import { isObject } from '#records/types/is-object.ts';
import type { HttpRequest } from '#server/http/http-types.ts';
import type { FileReading } from '../imports/thread/file-records.ts';
import type { EngineCost } from './file-error.ts';
import type { FileFormat } from './file-format.ts';

/** A query of a file. */
export interface FileQuery {
  readonly ownerId: string;
  readonly object: StoredObject;
  readonly format: FileFormat;
  /** How its cells are read. */
  readonly reading: FileReading;
  /** The query of the URL, without the parameters of `reading`. */
  readonly query: HttpRequest['query'];
  /** The parsed JSON body. */
  readonly body: unknown;
  readonly request: HttpRequest;
  /** What the engine may take. */
  readonly cost: EngineCost;
  /** Called before the first bytes of a page of rows. */
  readonly onNextPage?: (next: NextPage) => void;
  /** Called when an aggregation has more groups than its limit. */
  readonly onMoreGroups?: () => void;
}

/** Whether a body is an aggregation: conditions on columns with these names have to be in an array. */
export function isAggregation(body: unknown): boolean {
  return isObject(body) && ('groupBy' in body || 'values' in body);
}
