import { textLiteral } from '#engine/literal.ts';

/** Records with ids behind one, and up to another one if there is one. */
export interface IdRange {
  readonly after: string;
  readonly upTo?: string | undefined;
  /** SQL of a condition beside; absent: none. */
  readonly where?: string;
}

export const allIds: IdRange = { after: '' };

export function rangeSql({ after, upTo, where }: IdRange): string {
  const end = upTo === undefined ? '' : ` AND _id <= ${textLiteral(upTo)}`;
  return `_id > ${textLiteral(after)}${end}${where === undefined ? '' : ` AND ${where}`}`;
}
