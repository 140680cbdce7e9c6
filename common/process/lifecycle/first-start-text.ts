import { commandLine } from './command-line.ts';

/** Example commands of a service. @param curl `curl` with the token @param baseUrl without trailing slash */
export type Examples = (curl: string, baseUrl: string) => string;

/** The line with the dashboard's URL. Empty: this process does not serve it. */
export function dashboardLine(baseUrl: string, dashboard: string | null): string {
  return dashboard === null ? '' : `Dashboard:    ${baseUrl}${dashboard}\n`;
}

/** That line, and how to get the first account. */
function dashboardText(baseUrl: string, dashboard: string | null): string {
  if (dashboard === null) return '';
  return `${dashboardLine(baseUrl, dashboard)}              (register there with the access token below to take over its account)\n`;
}

/**
 * The text of the first start on an empty store: the access token, shown only once, and commands to copy.
 * @param token null: it was configured, so the operator knows it, and it is not printed
 * @param dashboard its path; null: this process does not serve it
 */
export function firstStartText(
  baseUrl: string,
  token: string | null,
  { examples, dashboard }: { readonly examples: readonly Examples[]; readonly dashboard: string | null },
): string {
  const curl = `curl -H "Authorization: Bearer ${token ?? '$BOOTSTRAP_TOKEN'}"`;
  const shown = token ?? 'the one in BOOTSTRAP_TOKEN';
  const note = token === null ? 'not shown' : 'shown this once';
  return `
Base URL:     ${baseUrl}
${dashboardText(baseUrl, dashboard)}Access token: ${shown}
              (${note}; \`${commandLine('token')}\` makes another)

${examples
  .map((commands) => commands(curl, baseUrl))
  .filter((text) => text !== '')
  .join('\n')}
`;
}
