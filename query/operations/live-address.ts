import { exactObject, string } from '#kernel/json/schema.ts';
import { readRequestConditions } from '../input/request-conditions.ts';
import { livePlan } from '../live/live-plan.ts';
import { makePerson } from '../openapi/operation-sample.ts';
import { jsonAnswer } from './json-answer.ts';
import type { OperationDefinition } from './operation.ts';

/** POST /{project}/{space}/_live_: an address of a live query, for a client that can't send headers. */
export const liveAddress: OperationDefinition = {
  async run({ request, open, body }, { addresses }) {
    const space = await open();
    const requested = await readRequestConditions(request, body);
    livePlan(requested, request, space);
    return jsonAnswer(JSON.stringify(await addresses.make(request, requested)));
  },
  id: 'createLiveAddress',
  summary: 'Make an address for a live query',
  description:
    "For browsers' EventSource, which sends no headers: an address. A stream must begin within a minute.",
  options: true,
  body: ({ conditionsBody }) => conditionsBody,
  answer: () => exactObject({ address: string, expiresAt: { ...string, format: 'date-time' } }),
  errors: ['invalid_condition', 'invalid_options', 'query_too_expensive'],
  sample: { first: makePerson },
};
