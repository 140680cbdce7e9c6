import type { Migration } from './migrate.ts';
import { controlTables } from './migrations/control-tables.ts';
import { recordTables } from './migrations/record-tables.ts';

/** All migrations, oldest first. One that was released never changes: a later one mends it. */
export const migrations: readonly Migration[] = [controlTables, recordTables];
