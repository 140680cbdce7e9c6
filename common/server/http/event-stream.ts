/** Server-sent events (HTML, section 9.2). */
export const eventStream = 'text/event-stream';

/**
 * Ends no event. It follows each chunk, because the native side sends the line break behind a chunk with the next one, and
 * urllib3 (Python's requests) gives out a chunk when it has that.
 */
export const comment = Buffer.from(':\n');

/** JSON without line breaks, those of Python's `splitlines` among them, to be the data of an event. */
export function oneLine(json: string): string {
  // between values they are white space, and JSON has them nowhere else
  const text = json.includes('\n') || json.includes('\r') ? json.replace(/[\n\r]/g, ' ') : json;
  // JSON has these within texts alone, and no other ones unescaped
  return text.includes('\u2028') || text.includes('\u2029') || text.includes('\u0085')
    ? text.replace(/[\u0085\u2028\u2029]/g, escaped)
    : text;
}

function escaped(character: string): string {
  return `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`;
}
