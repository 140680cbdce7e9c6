const token = /^[ \t]*([!#$%&'*+.^_`|~0-9A-Za-z/-]+)[ \t]*/;
const parameterName = /;[ \t]*(?:([!#$%&'*+.^_`|~0-9A-Za-z-]+)=)?/y;
// a quoted value is read with the escapes of RFC 9110 section 5.6.4, or else with literal backslashes
const escapedValue = /"((?:\\.|[^"\\])*)"[ \t]*(?=;|$)/y;
const literalValue = /"([^"]*)"[ \t]*(?=;|$)/y;
const bareValue = /([^;"]*)(?=;|$)/y;

export interface ParameterisedValue {
  /** The text before the parameters, in lower case. */
  readonly value: string;
  /** By lower-case name. */
  readonly parameters: ReadonlyMap<string, string>;
}

/** Reads `value; name=token; name="quoted"`. Null when it is malformed or names a parameter twice. */
export function parseParameters(header: string): ParameterisedValue | null {
  const start = token.exec(header);
  if (start === null) return null;
  const parameters = new Map<string, string>();
  let position = start[0].length;
  while (position < header.length) {
    const name = matchAt(parameterName, header, position);
    if (name === null) return null;
    position += name[0].length;
    // an empty parameter, such as a last semicolon
    if (name[1] === undefined) {
      if (/^[ \t]*(?:;|$)/.test(header.slice(position))) continue;
      return null;
    }
    const value =
      matchAt(escapedValue, header, position) ??
      matchAt(literalValue, header, position) ??
      matchAt(bareValue, header, position);
    const key = name[1].toLowerCase();
    if (value === null || parameters.has(key)) return null;
    position += value[0].length;
    parameters.set(
      key,
      value[0].startsWith('"') ? unescapeQuoted(value[1] as string) : (value[1] as string).trim(),
    );
  }
  return { value: (start[1] as string).toLowerCase(), parameters };
}

function matchAt(pattern: RegExp, text: string, position: number): RegExpExecArray | null {
  pattern.lastIndex = position;
  return pattern.exec(text);
}

/** In file names only `\"` and `\\` are escapes; any other backslash separates folders on Windows. */
function unescapeQuoted(text: string): string {
  return text.replace(/\\(["\\])/g, '$1');
}
