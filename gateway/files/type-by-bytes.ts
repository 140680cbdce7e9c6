import type { Inspected } from '../inspect/inspect-bytes.ts';
import { isShown } from './content-type-policy.ts';
import { unknownMediaType } from './media-type.ts';

/**
 * The media type of a file by what its client said and what its bytes are. Bytes that could act are named by what they
 * are, wherever their own type would be shown; a type that is not known is the one of the bytes, if that is shown.
 */
export function typeByBytes(declared: string, { active, type }: Pick<Inspected, 'active' | 'type'>): string {
  const isUnknown = declared === unknownMediaType;
  if (active !== null) return isUnknown || isShown(declared) ? active : declared;
  return isUnknown && type !== null && isShown(type) ? type : declared;
}
