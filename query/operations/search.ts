import { invalidCondition } from '#kernel/errors/catalogue.ts';
import { shownName } from '#kernel/errors/shown-name.ts';
import { arrayOf } from '#kernel/json/schema.ts';
import { splitQuery } from '#records/input/controls.ts';
import type { Filter } from '#records/input/filters/filter.ts';
import { narrowed } from '#records/input/parse-conditions.ts';
import { nextPage } from '#records/next-page.ts';
import { parseSearch, type Search, searchKeys } from '../input/parse-search.ts';
import { PartReader } from '../input/part-reader.ts';
import { readQueryConditions } from '../input/read-query-conditions.ts';
import { parseConditionParts, type RequestConditions } from '../input/request-conditions.ts';
import { controlParameters, foundHeaders, pageHeaders } from '../openapi/filter-schemas.ts';
import { jsonHeaders } from './json-answer.ts';
import { type ListPlan, ListRead } from './list-read.ts';
import type { OperationDefinition } from './operation.ts';
import { preparePopulate } from './populate.ts';

/** GET /{project}/{space}/search. The text is taken literally; an empty text is part of every value. */
export const search: OperationDefinition = {
  run(call, deps) {
    return new SearchRead(call, deps).answer();
  },
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

class SearchRead extends ListRead {
  protected readonly operation = 'search';
  protected override readonly headers = jsonHeaders;

  protected override readConditions(): RequestConditions {
    return { body: undefined, key: this.call.request.rawQuery };
  }

  protected plan(): ListPlan {
    const { space, deps } = this;
    const { request } = this.call;
    const { structure } = space;
    const { conditions: all, controls } = splitQuery(request.query, structure);
    const pairs = all.filter(([key]) => !searchKeys.includes(key));
    const parts = new PartReader();
    const input = { conditions: readQueryConditions(pairs, structure), controls };
    const { options, conditions: filter } = parseConditionParts(parts, input, request, structure);
    const search = parts.read((): Search => parseSearch(all, structure), { text: '', fields: [] });
    parts.check();
    const [hashed] = filter.hashed;
    if (hashed !== undefined) {
      throw invalidCondition([
        `Query field: ${shownName(hashed.field.name)} is hashed: a search can't compare it`,
      ]);
    }
    const { sort, page, select, count } = options;
    const conditions = narrowed(filter, { plain: [], others: [contains(search)] });
    const next = nextPage(options, structure);
    const read = { sort, page, select: next === null ? select : next.select, conditions };
    const populate = preparePopulate(deps, request, space, select);
    return { conditions, populate, counted: count ? read : null, read, next };
  }
}

/** Matches records in which one of the fields contains the text. */
function contains({ text, fields }: Search): Filter {
  const operator = 'icontains' as const;
  return { group: 'any', branches: fields.map((target) => ({ target, path: [], operator, values: [text] })) };
}
