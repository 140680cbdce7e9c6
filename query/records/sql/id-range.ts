import { textLiteral } from '#engine/literal.ts';

/** Records with ids after one id, and up to another id if given. */
export interface IdRange {
  readonly after: string;
  readonly upTo?: string | undefined;
  /** SQL of a further condition; absent: none. */
  readonly where?: string;
}

export const allIds: IdRange = { after: '' };

export function rangeSql({ after, upTo, where }: IdRange): string {
  const end = upTo === undefined ? '' : ` AND _id <= ${textLiteral(upTo)}`;
  return `_id > ${textLiteral(after)}${end}${where === undefined ? '' : ` AND ${where}`}`;
}
