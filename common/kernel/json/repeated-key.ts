const code = { quote: 0x22, colon: 0x3a, backslash: 0x5c } as const;
const brackets = { array: 0x5b, arrayEnd: 0x5d, object: 0x7b, objectEnd: 0x7d } as const;

/**
 * A key that a JSON object has twice; null: none. JSON.parse only keeps the last of its values. Objects inside of it are not
 * looked at. @param json its valid text @param object the parsed text
 */
export function repeatedKey(json: string, object: object): string | null {
  if (keyCount(json, null) === Object.keys(object).length) return null;
  const texts: string[] = [];
  keyCount(json, texts);
  const keys = texts.map((text) => JSON.parse(text) as string);
  return keys.find((key, index) => keys.indexOf(key) < index) ?? null;
}

/** How many keys the object of a JSON text has, with repeated ones. @param texts gets them, as JSON */
function keyCount(json: string, texts: string[] | null): number {
  const { length } = json;
  let depth = 0;
  let count = 0;
  let start = 0;
  let end = 0;
  for (let at = 0; at < length; at++) {
    switch (json.charCodeAt(at)) {
      case code.quote:
        start = at;
        end = stringEnd(json, at);
        at = end;
        break;
      case code.colon:
        if (depth !== 1) break;
        count++;
        texts?.push(json.slice(start, end + 1));
        break;
      case brackets.array:
      case brackets.object:
        depth++;
        break;
      case brackets.arrayEnd:
      case brackets.objectEnd:
        depth--;
    }
  }
  return count;
}

/** The position of the quote that ends a string. @param start the position of its first quote */
function stringEnd(json: string, start: number): number {
  for (let end = json.indexOf('"', start + 1); ; end = json.indexOf('"', end + 1)) {
    let backslashes = 0;
    while (json.charCodeAt(end - 1 - backslashes) === code.backslash) backslashes++;
    if (backslashes % 2 === 0) return end;
  }
}
