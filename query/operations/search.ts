import { parseOptions } from '../input/parse-options.ts';
import { parseSearch } from '../input/parse-search.ts';
import { containsSql } from '../sql/contains-sql.ts';
import { jsonStream } from './json-answer.ts';
import type { RunOperation } from './operation.ts';

/**
 * GET /{project}/{space}/search: a JSON array of the records in which any of the named TEXT fields contains the text,
 * which is taken literally, letter case ignored. The empty text is contained in every value.
 */
export const search: RunOperation = async ({ request, open }, { reader }) => {
  const { query, signal } = request;
  const space = await open();
  const { sort, page } = parseOptions(request.header('options'), space.structure);
  const { text, fields } = parseSearch(query, space.structure);
  // of a field without a value it is NULL, which WHERE takes as false
  const where = `(${fields.map((field) => containsSql(field, text)).join(' OR ')})`;
  return jsonStream(await reader.stream(space, { where, sort, page }, signal));
};
