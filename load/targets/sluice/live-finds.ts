import { jsonOf } from '../../files/exchange.ts';
import { Refusal } from '../../files/refusal.ts';
import type { ConnectionPool } from '../../http/connection-pool.ts';
import type { LiveFind } from '../../live/live-stream.ts';
import type { LiveRequest } from '../../mix/mix.ts';
import { RecordChoice } from '../records/record-choice.ts';
import type { Session } from '../target.ts';
import { tellingField } from './noted-writes.ts';
import { sluiceAddress } from './sluice-address.ts';
import { sluiceRecords } from './sluice-records.ts';

const answerLimit = 64 * 1024 * 1024;

/** Live finds of a Sluice (docs/live.md): a find that asks for events. */
export function liveFinds(
  { mix, address, notes }: Session,
  pool: ConnectionPool,
): (request: LiveRequest, number: number) => LiveFind {
  // no id is needed
  const records = sluiceRecords(sluiceAddress(address), {});
  return (request, number) => {
    const find = { ...request, kind: 'find', sort: null, limit: 0, pages: 1, records: 1 } as const;
    const field = tellingField(mix, request.space);
    const { head } = records.encoder(new RecordChoice(mix, find))(number);
    return {
      // without its empty line
      head: `${head.slice(0, -2)}accept: text/event-stream\r\n`,
      connect: (signal) => pool.connect(signal),
      async find(signal) {
        const answer = await pool.send(head, undefined, { keep: answerLimit, signal });
        if (answer.status !== 200) throw new Refusal(answer);
        return jsonOf(answer);
      },
      heard: (record) => notes?.heard(record.id, field === null ? null : record[field]),
    };
  };
}
