import type { Migration } from './migrate.ts';
import { controlTables } from './migrations/control-tables.ts';
import { deployments } from './migrations/deployments.ts';
import { largerMerges } from './migrations/larger-merges.ts';
import { loginAndStructureChanges } from './migrations/login-and-structure-changes.ts';

/** All migrations, oldest first. One that was released never changes: a later one mends it. */
export const migrations: readonly Migration[] = [
  controlTables,
  loginAndStructureChanges,
  largerMerges,
  deployments,
];
