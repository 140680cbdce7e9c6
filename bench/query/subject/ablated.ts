/** The query service without parts of the shared store, for bench/query/shared-ablation.ts: WITHOUT=finds,lookups. */
import { StatementQueues } from '../../../common/clickhouse/statement-queues.ts';
import { SharedReads } from '../../../query/store/shared-reads.ts';

const without = (process.env.WITHOUT ?? '').split(',');
if (without.includes('finds'))
  SharedReads.prototype.find = async (_space, _plan, _signal, { alone }) => alone();
if (without.includes('lookups')) {
  const { add } = StatementQueues.prototype;
  let queues = 0;
  // a queue for each, where nothing gathers
  StatementQueues.prototype.add = function (item) {
    const isLookup = item.shape === 'ids' || item.shape === 'keys';
    return add.call(this, isLookup ? { ...item, queue: `${item.queue} ${queues++}` } : item);
  };
}
await import('../../../query/main.ts');
