/** An API call as a command to paste into a POSIX shell; `$TOKEN` is the access token. */
export function curl(args: {
  /** May contain shell variables, such as `$ID`. */
  readonly url: string;
  /** Absent: as curl chooses. */
  readonly method?: string;
  /** JSON or text. */
  readonly headers?: Readonly<Record<string, unknown>>;
  readonly body?: unknown;
  /** Further arguments, verbatim. */
  readonly more?: readonly string[];
}): string {
  const { url, method, headers = {}, body, more = [] } = args;
  const parts = [
    `curl -sS${method === undefined ? '' : ` -X ${method}`} -H "Authorization: Bearer $TOKEN"`,
    ...Object.entries(headers).map(([name, value]) =>
      // double quotes, so that the shell expands variables
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

/** A command that stores a value of another command's JSON answer in a shell variable. */
export function keeping(variable: string, key: string, command: string): string {
  return `${variable}=$(${command} | sed 's/.*"${key}":"\\([^"]*\\)".*/\\1/')`;
}
