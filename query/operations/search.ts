import { invalidCondition } from '#kernel/errors/catalogue.ts';
import { shownName } from '#kernel/errors/shown-name.ts';
import { arrayOf } from '#kernel/json/schema.ts';
import { continueWith } from '#kernel/limits/continue-with.ts';
import { splitQuery } from '#records/input/controls.ts';
import type { Filter } from '#records/input/filters/filter.ts';
import { narrowed } from '#records/input/parse-conditions.ts';
import { listReading, nextPage } from '#records/next-page.ts';
import type { RecordSpace } from '#records/structure/record-space.ts';
import type { HttpResponse } from '#server/http/http-types.ts';
import { askedParts } from '../input/asked-conditions.ts';
import { givenInQuery } from '../input/given-in-query.ts';
import { parseSearch, type Search, searchKeys } from '../input/parse-search.ts';
import { PartReader } from '../input/part-reader.ts';
import { controlParameters, foundHeaders, pageHeaders } from '../openapi/filter-schemas.ts';
import { cachedList } from './cached-answer.ts';
import { jsonHeaders } from './json-answer.ts';
import type { OperationCall, OperationDefinition, OperationDeps } from './operation.ts';
import { preparePopulate } from './populate.ts';

/** GET /{project}/{space}/search. The text is taken literally; the empty one is contained in every value. */
export const search: OperationDefinition = {
  run: (call, deps) => continueWith(call.open(), (space) => answer(call, space, deps)),
  summary: 'Search text fields',
  description: 'The records in which any of the fields contains the text, and that match the conditions.',
  parameters: ({ search, conditions }) => [
    ...search,
    ...conditions.filter(({ name }) => search.every((parameter) => parameter.name !== name)),
    ...controlParameters,
  ],
  timed: true,
  options: true,
  answer: ({ found }) => arrayOf(found),
  answerHeaders: { ...foundHeaders, ...pageHeaders },
  errors: ['invalid_condition', 'invalid_options', 'query_too_expensive'],
  sample: { more: ['-G', '-d searchText=ada', '-d searchableFields[]=name'] },
};

function answer(
  call: OperationCall,
  space: RecordSpace,
  deps: OperationDeps,
): HttpResponse | Promise<HttpResponse> {
  const { request } = call;
  const { reader } = deps;
  const { structure } = space;
  const asked = `search ${request.rawQuery}`;
  return cachedList({ call, deps, space, asked, headers: jsonHeaders }, () => {
    const { conditions: all, controls } = splitQuery(request.query, structure);
    const pairs = all.filter(([key]) => !searchKeys.includes(key));
    const parts = new PartReader();
    const given = { given: givenInQuery(pairs, structure), controls };
    const { options, conditions: beside } = askedParts(parts, given, request, structure);
    const search = parts.read((): Search => parseSearch(all, structure), { text: '', fields: [] });
    parts.check();
    const [hashed] = beside.hashed;
    if (hashed !== undefined) {
      throw invalidCondition([
        `Query field: ${shownName(hashed.field.name)} is hashed: a search can't compare it`,
      ]);
    }
    const { sort, page, select, count } = options;
    const conditions = narrowed(beside, { plain: [], others: [contains(search)] });
    const next = nextPage(options, structure);
    const plan = { sort, page, select: next === null ? select : next.select, conditions };
    return {
      conditions,
      populate: preparePopulate(deps, request, space, select),
      total: count ? () => reader.total(space, plan, request.signal) : null,
      next,
      ...listReading(reader, { space, plan, next, signal: request.signal }),
    };
  });
}

/** One of the fields has the text. */
function contains({ text, fields }: Search): Filter {
  const operator = 'icontains' as const;
  return { group: 'any', branches: fields.map((target) => ({ target, path: [], operator, values: [text] })) };
}
