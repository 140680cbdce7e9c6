import * as records from './bad-record-requests.ts';
import type { BadRequest } from './bad-request.ts';
import * as uploads from './bad-uploads.ts';
import { createDice } from './dice.ts';

const makers = [...Object.values(records), ...Object.values(uploads)];

/** The bad request of a number in a run with this seed: always the same, but for ids that nobody has. */
export function makeBadRequest(seed: number, index: number, token: string): BadRequest {
  const dice = createDice(seed + index * 2_654_435_761);
  return dice.pick(makers)(dice, token);
}
