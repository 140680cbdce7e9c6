import { ConnectionPool } from '../http/connection-pool.ts';
import { plainRequest } from './plain-requests.ts';
import type { TargetKind } from './target.ts';

/** Any server: requests of the kind `request`. A credential is sent as a bearer token. */
export const http: TargetKind = {
  refuses: ({ kind, name }) =>
    kind === 'request'
      ? null
      : `the request ${name} is of the kind ${kind}, and a target of kind http serves only request`,
  prepare: async () => null,
  open({ mix, address }) {
    const url = new URL(address.url);
    const pool = new ConnectionPool(address.url);
    const fields = address.credential === null ? '' : `authorization: Bearer ${address.credential}\r\n`;
    const performers = new Map(
      mix.requests.flatMap((request) =>
        request.kind === 'request'
          ? [[request.name, plainRequest(request, { pool, seed: mix.seed, url, fields })] as const]
          : [],
      ),
    );
    return {
      perform: (request, number, signal) => {
        const perform = performers.get(request.name);
        if (perform === undefined) throw new Error(`no request ${request.name} was prepared`);
        return perform(number, signal);
      },
      close: () => pool.close(),
    };
  },
  cleanUp: async () => {},
};
