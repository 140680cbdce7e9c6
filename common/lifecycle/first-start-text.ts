/** Commands that show what a service is for. @param curl `curl` with the token @param baseUrl without trailing slash */
export type Examples = (curl: string, baseUrl: string) => string;

/** What the first start on an empty store prints: the access token, this once, and commands to copy. */
export function firstStartText(baseUrl: string, token: string, examples: readonly Examples[]): string {
  const curl = `curl -H 'Authorization: Bearer ${token}'`;
  return `
Base URL:     ${baseUrl}
Access token: ${token}
              (shown this once; \`npm run -s token\` makes another)

${examples.map((commands) => commands(curl, baseUrl)).join('\n')}
`;
}
