import t from 'tap';
import { migrations } from '#catalogue/migrations.ts';
import { layoutOf } from '#engine/table-layout.ts';

t.test('tables of one server are made as they are written', async (t) => {
  const layout = layoutOf({ replicated: false });
  t.equal(layout.engine('d.t', 'ReplacingMergeTree(version)'), 'ReplacingMergeTree(version)');
  const ddl = migrations.flatMap(({ statements }) => statements('d', layout)).join('\n');
  t.notMatch(ddl, /Replicated/);
  t.match(ddl, /non_replicated_deduplication_window/);
});

t.test('replicated tables name their path in Keeper and their replica', async (t) => {
  const layout = layoutOf({ replicated: true });
  t.equal(
    layout.engine('d.users', 'ReplacingMergeTree(version)'),
    "ReplicatedReplacingMergeTree('/clickhouse/tables/sluice/{shard}/d/users', '{replica}', version)",
  );
  t.equal(
    layout.engine('d.t', 'MergeTree'),
    "ReplicatedMergeTree('/clickhouse/tables/sluice/{shard}/d/t', '{replica}')",
  );
});

t.test('every table of a replicated store is replicated, under its own path', async (t) => {
  const layout = layoutOf({ replicated: true });
  const ddl = migrations.flatMap(({ statements }) => statements('d', layout));
  const made = ddl.flatMap((sql) => /CREATE TABLE IF NOT EXISTS (\S+)/.exec(sql)?.[1] ?? []);
  t.ok(made.length > 10, `${made.length} tables`);
  const paths = ddl.flatMap(
    (sql) =>
      /ENGINE = Replicated\w*MergeTree\('\/clickhouse\/tables\/sluice\/\{shard\}\/([^']+)', '\{replica\}'/.exec(
        sql,
      )?.[1] ?? [],
  );
  t.strictSame(
    paths,
    made.map((table) => table.replace('.', '/')),
  );
  t.notMatch(ddl.join('\n'), /non_replicated/);
});
