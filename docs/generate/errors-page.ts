import type { ApiError } from '../../common/errors/api-error.ts';
import { remedies, samples } from './errors.ts';

/** docs/errors.md. Throws when an error has no remedy, or a remedy no error. */
export function errorsPage(): string {
  const byCode = new Map<string, ApiError>();
  for (const error of Object.values(samples)) {
    if (!byCode.has(error.code)) byCode.set(error.code, error);
  }
  const missing = [...byCode.keys()].filter((code) => remedies[code] === undefined);
  const gone = Object.keys(remedies).filter((code) => !byCode.has(code));
  if (missing.length > 0) throw new Error(`docs/generate/errors.ts has no remedy for ${missing.join(', ')}`);
  if (gone.length > 0)
    throw new Error(`docs/generate/errors.ts has a remedy for ${gone.join(', ')}, which is no error`);
  const sorted = [...byCode.values()].sort((a, b) => a.status - b.status);
  const rows = sorted.map((error) => {
    const headers = Object.keys(error.headers).map((name) => `\`${name}\``);
    const message = error.message.replaceAll('|', '\\|');
    return `| ${error.status} | \`${error.code}\` | ${message} | ${remedies[error.code]} | ${headers.join(', ')} |\n`;
  });
  return `# Errors

<!-- Written by \`npm run docs\` from common/errors/catalogue.ts and docs/generate/errors.ts: do not edit it here. -->

Every error has the same shape ([api.md](api.md#errors)). Programs should check \`code\`, which is
stable. Messages are for people and may change. \`error\` lists every problem that was found.
\`requestId\` identifies the request in the log of the service.

| status | code | a message | what to do | headers |
|---|---|---|---|---|
${rows.join('')}`;
}
