import { textLiteral } from './literal.ts';

/** The table engines of a store: plain, or replicated between its servers. */
export interface TableLayout {
  readonly replicated: boolean;
  /** The engine of a table. @param table with its database @param engine such as `ReplacingMergeTree(version)` */
  engine(table: string, engine: string): string;
}

const plain: TableLayout = { replicated: false, engine: (_, engine) => engine };

/**
 * Servers of a store find each other by a path in Keeper. It contains the macro `shard`, because stores may share a Keeper.
 * https://clickhouse.com/docs/engines/table-engines/mergetree-family/replication
 */
const replicated: TableLayout = {
  replicated: true,
  engine(table, engine) {
    const [, name = engine, args = ''] = /^(\w+)(?:\((.*)\))?$/.exec(engine) ?? [];
    const path = `/clickhouse/tables/sluice/{shard}/${table.replace('.', '/')}`;
    const all = [textLiteral(path), textLiteral('{replica}'), ...(args === '' ? [] : [args])];
    return `Replicated${name}(${all.join(', ')})`;
  },
};

/** @param store a `Database` */
export function layoutOf(store: { readonly replicated: boolean }): TableLayout {
  return store.replicated ? replicated : plain;
}
