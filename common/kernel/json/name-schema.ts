import { longestName } from '../ids/slug.ts';
import type { Schema } from './schema.ts';

/** The names that `nameProblem` accepts: any text without control characters. */
export const nameSchema = {
  type: 'string',
  minLength: 1,
  maxLength: longestName,
  // bytes that are not UTF-8 become U+FFFD
  pattern: '^[^\\u0000-\\u001f\\u007f-\\u009f\\ufffd]*$',
} as const satisfies Schema;
