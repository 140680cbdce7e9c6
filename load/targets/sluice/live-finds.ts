import { jsonOf } from '../../files/exchange.ts';
import { Refusal } from '../../files/refusal.ts';
import type { ConnectionPool } from '../../http/connection-pool.ts';
import type { LiveFind } from '../../live/live-stream.ts';
import type { LiveRequest } from '../../mix/mix.ts';
import type { Session } from '../target.ts';
import { recordEncoder } from './record-encoder.ts';
import { sluiceAddress } from './sluice-address.ts';

const answerLimit = 64 * 1024 * 1024;

/** Live finds of a Sluice (docs/live.md): a find that asks for events. */
export function liveFinds(
  { mix, address }: Session,
  pool: ConnectionPool,
): (request: LiveRequest, number: number) => LiveFind {
  return (request, number) => {
    const find = { ...request, kind: 'find', sort: null, limit: 0, pages: 1, records: 1 } as const;
    // no id is needed
    const work = { mix, address: sluiceAddress(address), prepared: {} };
    const { head } = recordEncoder(find, work)(number);
    return {
      // without its empty line
      head: `${head.slice(0, -2)}accept: text/event-stream\r\n`,
      connect: (signal) => pool.connect(signal),
      async find(signal) {
        const answer = await pool.send(head, undefined, { keep: answerLimit, signal });
        if (answer.status !== 200) throw new Refusal(answer);
        return jsonOf(answer);
      },
    };
  };
}
