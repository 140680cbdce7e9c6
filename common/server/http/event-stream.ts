/** Server-sent events (HTML, section 9.2). */
export const eventStream = 'text/event-stream';

/**
 * A line that ends no event. It follows each chunk, because uWebSockets.js sends the line break after a chunk with the next
 * one, and urllib3 (Python's requests) passes a chunk on only after that.
 */
export const comment = Buffer.from(':\n');

/** JSON without line breaks, including those of Python's `splitlines`, as the data of an event. */
export function oneLine(json: string): string {
  // JSON has these only between values, as white space
  const text = json.includes('\n') || json.includes('\r') ? json.replace(/[\n\r]/g, ' ') : json;
  // JSON has these only within texts
  return text.includes('\u2028') || text.includes('\u2029') || text.includes('\u0085')
    ? text.replace(/[\u0085\u2028\u2029]/g, escaped)
    : text;
}

function escaped(character: string): string {
  return `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`;
}
