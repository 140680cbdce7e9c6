import { FileSenders } from '#auth/file-senders.ts';
import { openLoginTokens } from '#auth/login-tokens.ts';
import { createStoredKeys } from '#auth/signing-keys.ts';
import type { Projects } from '#catalogue/projects.ts';
import type { Database } from '#engine/database.ts';
import type { QueryEnvironment } from '#query/query-environment.ts';
import { queryConfig } from './plain-store.ts';

/** Senders of requests for files, by the keys of a store. */
export function sendersFor({
  authenticate,
  projects,
  ...store
}: {
  readonly authenticate: QueryEnvironment['authenticate'];
  readonly projects: Projects;
  readonly db: Database;
  readonly database: string;
}): FileSenders {
  return new FileSenders({
    authenticate,
    projects,
    loginTokens: openLoginTokens(queryConfig, createStoredKeys(store)),
  });
}
