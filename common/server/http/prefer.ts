import type { ApiHeader, ApiParameter } from '../openapi/api-operation.ts';
import type { HttpRequest } from './http-types.ts';

/** Items of a comma-separated list. A comma in a quoted string separates nothing. */
const listItem = /(?:[^,"]|"(?:[^"\\]|\\.)*"?)+/g;
const token = "[\\w!#$%&'*+.^`|~-]+";
/** RFC 7240 section 2: a preference, its value, and parameters, which none of ours has. */
const preference = new RegExp(
  `^\\s*(${token})\\s*(?:=\\s*(?:(${token})|"((?:[^"\\\\]|\\\\.)*)")?\\s*)?(?:;.*)?$`,
);

/**
 * The value of a preference of a request (RFC 7240 section 2), empty if it has none; undefined: it is not expressed. What
 * is not a preference is ignored, as unknown ones are.
 * @param name in lower case
 */
export function preferred(request: Pick<HttpRequest, 'header'>, name: string): string | undefined {
  const text = request.header('prefer');
  if (text === undefined) return undefined;
  for (const item of text.match(listItem) ?? []) {
    const [, found, plain, quoted = ''] = preference.exec(item) ?? [];
    // "If any preference is specified more than once, only the first instance is to be considered"
    if (found?.toLowerCase() === name) return plain ?? quoted.replace(/\\(.)/g, '$1');
  }
  return undefined;
}

/** Whether a request wants no copy of what it sent (RFC 7240 section 4.2). */
export function prefersMinimal(request: Pick<HttpRequest, 'header'>): boolean {
  return preferred(request, 'return') === 'minimal';
}

/** Header of an answer that follows the preference. */
export const minimalApplied = { 'preference-applied': 'return=minimal' } as const;

export const minimalParameter: ApiParameter = {
  name: 'Prefer',
  in: 'header',
  description:
    '`return=minimal` (RFC 7240): the answer is a 201 with counts, and no copy of the records. Other preferences are ignored',
  schema: { type: 'string' },
  example: 'return=minimal',
};

export const minimalHeaders: Readonly<Record<string, ApiHeader>> = {
  'Preference-Applied': {
    description: 'The preference that the answer follows',
    schema: { type: 'string', enum: [minimalApplied['preference-applied']] },
    always: true,
  },
};
