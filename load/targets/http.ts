import { ConnectionPool } from '../http/connection-pool.ts';
import type { PlainRequest } from '../mix/mix.ts';
import { performerOf } from './performer-of.ts';
import { plainRequest } from './plain-requests.ts';
import type { TargetKind } from './target.ts';

/** Any server: requests of the kind `request`. A credential is sent as a bearer token. */
export const http: TargetKind = {
  options: [],
  refuses: ({ kind, name }) =>
    kind === 'request'
      ? null
      : `the request ${name} is of the kind ${kind}, and a target of kind http serves only request`,
  prepare: async () => null,
  open({ mix, address }) {
    const url = new URL(address.url);
    const pool = new ConnectionPool(address.url);
    const fields = address.credential === null ? '' : `authorization: Bearer ${address.credential}\r\n`;
    return performerOf(
      // all others are refused
      (request) => plainRequest(request as PlainRequest, { pool, seed: mix.seed, url, fields }),
      () => pool.close(),
    );
  },
  cleanUp: async () => {},
};
