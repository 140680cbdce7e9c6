import { commandLine } from './command-line.ts';

/** Commands that show what a service is for. @param curl `curl` with the token @param baseUrl without trailing slash */
export type Examples = (curl: string, baseUrl: string) => string;

/**
 * What the first start on an empty store prints: the access token, this once, and commands to copy.
 * @param token null: it was configured, so it is a secret that somebody has, and is not printed
 */
export function firstStartText(baseUrl: string, token: string | null, examples: readonly Examples[]): string {
  const curl = `curl -H "Authorization: Bearer ${token ?? '$BOOTSTRAP_TOKEN'}"`;
  const shown = token ?? 'the one in BOOTSTRAP_TOKEN';
  const note = token === null ? 'not shown' : 'shown this once';
  return `
Base URL:     ${baseUrl}
Access token: ${shown}
              (${note}; \`${commandLine('token')}\` makes another)

${examples.map((commands) => commands(curl, baseUrl)).join('\n')}
`;
}
