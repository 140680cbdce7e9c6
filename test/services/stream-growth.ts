import { setTimeout as sleep } from 'node:timers/promises';
import { openChdb } from '#engine/open-chdb.ts';

/** Streams all records of the store in the folder, and prints by how many bytes this process grew at most. */
const [, , path = ''] = process.argv;
const db = openChdb({ path });
const columns = `concat(',{"id":', toJSONString(_id), ',"text":', toJSONString(t0), '}')`;
const read = async (where: string): Promise<number> => {
  const before = process.memoryUsage.rss();
  let peak = before;
  let bytes = 0;
  const sql = `SELECT ${columns} FROM sluice.records WHERE ${where} ORDER BY space, _id`;
  for await (const chunk of await db.stream({ sql, format: 'TSVRaw', account: 'reader' })) {
    bytes += chunk.byteLength;
    peak = Math.max(peak, process.memoryUsage.rss());
    // a reader that is slower than the engine
    if (bytes % (1024 * 1024) < chunk.byteLength) await sleep(5);
  }
  return peak - before;
};
await read(`_id = 'none'`);
console.log(await read('1'));
await db.close();
