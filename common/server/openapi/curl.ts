/** A call of the API as a command to paste into a POSIX shell; `$TOKEN` holds the access token. */
export function curl(args: {
  /** With variables of the shell, such as `$ID`. */
  readonly url: string;
  /** Absent: as curl chooses. */
  readonly method?: string;
  /** JSON or text. */
  readonly headers?: Readonly<Record<string, unknown>>;
  readonly body?: unknown;
  /** Arguments as they are. */
  readonly more?: readonly string[];
}): string {
  const { url, method, headers = {}, body, more = [] } = args;
  const parts = [
    `curl -sS${method === undefined ? '' : ` -X ${method}`} -H "Authorization: Bearer $TOKEN"`,
    ...Object.entries(headers).map(([name, value]) =>
      // a value of the shell's is not quoted away
      typeof value === 'string'
        ? `-H "${name}: ${value}"`
        : `-H ${quoted(`${name}: ${JSON.stringify(value)}`)}`,
    ),
    ...(body === undefined
      ? []
      : [`-H 'Content-Type: application/json'`, `-d ${quoted(JSON.stringify(body))}`]),
    ...more,
    `"${url}"`,
  ];
  return parts.join(' \\\n  ');
}

function quoted(text: string): string {
  return `'${text.replaceAll("'", `'\\''`)}'`;
}

/** A command that keeps the value of a key in another one's answer. */
export function keeping(variable: string, key: string, command: string): string {
  return `${variable}=$(${command} | sed 's/.*"${key}":"\\([^"]*\\)".*/\\1/')`;
}
