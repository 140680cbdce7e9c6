import type { Handler } from '../../common/http/http-types.ts';
import { parseOptions } from '../input/parse-options.ts';
import { parseSearch } from '../input/parse-search.ts';
import { streamRecords } from '../records/stream-records.ts';
import { containsSql } from '../sql/contains-sql.ts';
import type { ReadDeps } from './find.ts';
import { jsonHeaders } from './json-answer.ts';

/**
 * GET /{project}/{space}/search: a JSON array of the records in which any of the named TEXT fields contains the text,
 * which is taken literally, letter case ignored. The empty text is contained in every value.
 */
export function search({ db, openSpace }: Pick<ReadDeps, 'db' | 'openSpace'>): Handler {
  return async (request) => {
    const { query, signal } = request;
    const space = await openSpace(request, 'search');
    const options = parseOptions(request.header('options'), space.structure);
    const { text, fields } = parseSearch(query, space.structure);
    // of a field without a value it is NULL, which WHERE takes as false
    const where = `(${fields.map(({ slug }) => containsSql(slug, text)).join(' OR ')})`;
    const chunks = await streamRecords(db, { space, where, options }, signal);
    return { status: 200, headers: jsonHeaders, body: { chunks } };
  };
}
