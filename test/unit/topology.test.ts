import t from 'tap';
import { topologyOf } from '../../common/clickhouse/topology.ts';

t.test('one store is laid out as it always was', async (t) => {
  const one = topologyOf({});
  t.equal(one.onCluster, '');
  for (const name of ['rowsTable', 'rowsEverywhere'] as const) t.equal(one[name]('d.t'), 'd.t');
  t.equal(one.metadataEngine('d.t', 'ReplacingMergeTree(version)'), 'ReplacingMergeTree(version)');
  t.equal(one.rowsEngine('d.t', 'MergeTree'), 'MergeTree');
  t.equal(one.distributedEngine('d.t', 'x'), null);
});

t.test('a cluster replicates and shards', async (t) => {
  const many = topologyOf({ cluster: 'main' });
  t.equal(many.onCluster, ' ON CLUSTER `main`');
  t.equal(many.rowsTable('d.t'), 'd.t_local');
  t.equal(many.rowsEverywhere('d.t'), 'd.t_local ON CLUSTER `main`');
  t.equal(
    many.metadataEngine('d.users', 'ReplacingMergeTree(version)'),
    "ReplicatedReplacingMergeTree('/clickhouse/tables/sluice/all/d/users', '{shard}-{replica}', version)",
  );
  t.equal(
    many.rowsEngine('d.t', 'MergeTree'),
    "ReplicatedMergeTree('/clickhouse/tables/sluice/{shard}/d/t_local', '{replica}')",
  );
  t.equal(
    many.distributedEngine('d.t', 'cityHash64(_id)'),
    "Distributed('main', 'd', 't_local', cityHash64(_id))",
  );
});
