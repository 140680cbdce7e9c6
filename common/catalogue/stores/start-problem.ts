import { StatementError } from '#engine/engine-failure.ts';

/** The oldest supported version of the engine: major and minor number. */
const oldest = [26, 3] as const;

/** The cause behind the text that clients see. */
function causeOf(error: unknown): Error {
  const { cause } = error as { readonly cause?: unknown };
  return cause instanceof Error ? causeOf(cause) : (error as Error);
}

/** What an operator can do about a failed start, in one sentence without a secret. @param user CLICKHOUSE_USER */
export function startProblem(error: unknown, { user }: { readonly user: string }): string {
  const cause = causeOf(error);
  if (!(cause instanceof StatementError)) {
    const { message, code } = cause as NodeJS.ErrnoException;
    return message === '' ? (code ?? 'it does not answer') : message;
  }
  const { message, engineCode } = cause;
  const [, own = message] = /DB::Exception: (.*?)(?:\. \([A-Z_]+\)|$)/s.exec(message) ?? [];
  const [, grant = ''] = /(?:the grant|grant) ([^.]+?(?: ON \S+)?)\.?$/.exec(own) ?? [];
  const sentences: Readonly<Record<number, string>> = {
    115: `it is too old, or a proxy: ${own}`,
    164: `the user ${user} may not write or change settings: its profile has readonly (CLICKHOUSE_USER)`,
    192: `it knows no user ${user} (CLICKHOUSE_USER)`,
    452: `the profile of the user ${user} forbids a setting that Sluice needs: ${own}`,
    497: `the user ${user} lacks a right: GRANT ${grant} TO ${user}`,
    516: `it refuses the user ${user} with this password (CLICKHOUSE_USER, CLICKHOUSE_PASSWORD)`,
  };
  return sentences[engineCode] ?? message;
}

/** Adds a sentence for the operator to an error at start, if the engine refused something. */
export function explainError(error: unknown, config: { readonly user: string }): unknown {
  if (!(causeOf(error) instanceof StatementError) || (error as Error).message.startsWith('the ClickHouse'))
    return error;
  return new Error(`ClickHouse can't be used: ${startProblem(error, config)}`, { cause: error });
}

/** @param version as the engine writes it @returns the problem with it, or null */
export function versionProblem(version: string): string | null {
  const [major = 0, minor = 0] = version.split('.').map(Number);
  const isOld = major < oldest[0] || (major === oldest[0] && minor < oldest[1]);
  return isOld ? `it is ClickHouse ${version}, and Sluice needs ${oldest.join('.')} or later` : null;
}
