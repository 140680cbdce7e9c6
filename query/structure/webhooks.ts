import { isObject } from './is-object.ts';

/** `webhooks` of a structure: addresses that writes will call. */
export interface Webhooks {
  readonly onInsertUrl: string | null;
  readonly onUpdateUrl: string | null;
}

export const longestUrl = 2048;

export function parseWebhooks(input: unknown, problems: string[]): Webhooks | null {
  if (input === undefined || input === null) return null;
  if (!isObject(input)) {
    problems.push('The structure has webhooks that are not an object');
    return null;
  }
  const url = (key: keyof Webhooks): string | null => {
    const value = input[key] ?? '';
    if (value === '') return null;
    if (typeof value === 'string' && isHttpUrl(value)) return value;
    problems.push(`The structure has webhooks with an ${key} that is not an http or https address`);
    return null;
  };
  return { onInsertUrl: url('onInsertUrl'), onUpdateUrl: url('onUpdateUrl') };
}

function isHttpUrl(text: string): boolean {
  return text.length <= longestUrl && URL.canParse(text) && /^https?:$/.test(new URL(text).protocol);
}
