import { maxOriginalCharacters } from '#gateway/files/file-name.ts';
import { maxParts } from '#gateway/multipart/multipart-parser.ts';
import { maxFieldBytes } from '#gateway/multipart/receive-file.ts';
import { longestLifetime } from '#gateway/operations/link.ts';
import { formOverheadBytes } from '#gateway/operations/upload.ts';
import { files, limits as quotas, records } from '#kernel/config/settings.ts';
import type { Variable } from '#kernel/config/variable.ts';
import { longestMessage } from '#kernel/errors/joined-problems.ts';
import { listedProblems } from '#kernel/errors/problems.ts';
import { longestName, longestSlug } from '#kernel/ids/slug.ts';
import { maxPopulations } from '#query/input/parse-populate.ts';
import { longestText, maxSearchedFields } from '#query/input/parse-search.ts';
import { jsonCost, mostCost, mostRecords as mostLive, textCost } from '#query/live/live-plan.ts';
import { mostBytes as mostLiveBytes } from '#query/live/snapshots.ts';
import { mostFileWebhooks } from '#query/login/file-webhooks.ts';
import { manyLimits } from '#query/operations/many-records.ts';
import { aggregateLimits } from '#records/input/aggregate/aggregate-plan.ts';
import { maxHashed, maxPlain } from '#records/input/credentials.ts';
import { filterLimits } from '#records/input/filters/filter.ts';
import { maxHashedConditions } from '#records/input/parse-conditions.ts';
import {
  fieldOverhead,
  maxAddedCharacters,
  maxHashedValues,
  maxRecords,
  recordOverhead,
} from '#records/input/validate-record.ts';
import { mostGroups } from '#records/sql/aggregate-sql.ts';
import { longestUrl, maxFields, mostLevels } from '#records/structure/parse-structure.ts';
import { mostLevels as levelsOfValue } from '#records/types/canonical-json.ts';
import { mostReserved } from '#records/unique/redis-reservations.ts';
import { smallBody } from '#server/http/body-memory.ts';
import { maxHeadBytes, nativeHeadBytes, nativeHeaders } from '#server/http/head-limits.ts';
import { maxBodyValues, maxObjectMembers, maxRecordValues } from '#server/http/json-scanner.ts';

const { maxUploadBytes } = files.variables;
const { liveMaxStreams, liveMaxTokenStreams } = quotas.variables;
const { maxRecordBytes, maxRecordsBytes, maxSpaces, maxProjects } = records.variables;

export type Limit = readonly [what: string, limit: string, beyond: string];

/** Rows of "Limits" of docs/api.md. Each number comes from the module that refuses anything beyond it. */
export const limits: readonly Limit[] = [
  ['a file', setting(maxUploadBytes, bytes), '413 `payload_too_large`'],
  [
    'the form of an upload',
    `${count(maxParts)} parts with the file; ${bytes(maxFieldBytes)} in a field; MAX_UPLOAD_BYTES and ${bytes(formOverheadBytes)} in all`,
    '400 `invalid_multipart`; 413 `payload_too_large`',
  ],
  ['a file name', `${count(maxOriginalCharacters)} characters`, '400 `invalid_multipart`'],
  [
    'request line and headers',
    `${bytes(maxHeadBytes)}, ${count(nativeHeaders)} headers`,
    `431 \`headers_too_large\`; beyond ${bytes(nativeHeadBytes)} a 431 without JSON; more headers close the connection`,
  ],
  ['a body with one record', setting(maxRecordBytes, bytes), '413 `payload_too_large`'],
  [
    'a body with an array of records, or with NDJSON',
    setting(maxRecordsBytes, bytes),
    '413 `payload_too_large`',
  ],
  [
    `values in a body of more than ${bytes(smallBody)}`,
    `${count(maxBodyValues)}; ${count(maxRecordValues)} in one record; ${count(maxObjectMembers)} keys in one object. Each element, array and object counts`,
    '400 `invalid_body`',
  ],
  [
    'records of one insert',
    `(${bytes(maxAddedCharacters)} / (${recordOverhead} characters + for each field ${fieldOverhead}, its name and its default)): ${count(recordsOfUsualSpace())} records of 8 fields with short names`,
    '400 `invalid_body`',
  ],
  ['hashed values of one insert', count(maxHashedValues), '400 `invalid_value`'],
  ['values of unique fields of one insert, with REDIS_URL', count(mostReserved), '400 `invalid_body`'],
  ['fields of a structure', count(maxFields), '400 `invalid_structure`'],
  ['levels of a structure, of a value', `${mostLevels}, ${levelsOfValue}`, '400'],
  ['names and slugs of fields and record spaces', `${count(longestName)} characters`, '400'],
  ["a project's slug", `${longestSlug} characters`, '400 `invalid_slug`'],
  [
    'record spaces of an account, projects',
    `${setting(maxSpaces, count)}; ${setting(maxProjects, count)}`,
    '403 `too_many_spaces`, `too_many_projects`',
  ],
  [
    'conditions of a query',
    `${filterLimits.comparisons}, of them ${maxHashedConditions} on hashed fields; groups of ${filterLimits.levels} levels`,
    '400',
  ],
  [
    'values of a list in a condition',
    `${count(filterLimits.listInQuery)} in a query, ${count(filterLimits.listInBody)} in a body; ${count(filterLimits.inLists)} in all lists`,
    '400 `invalid_condition`',
  ],
  ['records of an insert with onConflict', count(manyLimits.records), '400 `invalid_body`'],
  [
    'records that updateMany or deleteMany changes',
    `${count(manyLimits.records)}, with ${bytes(manyLimits.bytes)} of values`,
    '400 `invalid_condition`',
  ],
  ['a text to search for', `${count(longestText)} characters, in ${count(maxSearchedFields)} fields`, '400'],
  [
    'groups of an aggregation; fields in groupBy, functions',
    `${count(aggregateLimits.rows)} in an answer, ${count(mostGroups)} to choose from; ${aggregateLimits.groups}, ${aggregateLimits.values}`,
    '400, 422 `query_too_expensive`',
  ],
  [
    'records of a live query; live queries of a process',
    `${count(mostLive)}; ${liveMaxStreams.name}`,
    '413 `too_many_records`; 429 `too_many_streams` ([live queries](live.md#limits))',
  ],
  ['entries of populate', count(maxPopulations), '400 `invalid_options`'],
  ['fields of a login', `${maxHashed} hashed, ${maxPlain} others`, '400'],
  [
    'problems listed in an error',
    `${count(listedProblems)}; \`message\` ${count(longestMessage)} characters`,
    'the rest is counted',
  ],
  ['the address of a webhook', `${count(longestUrl)} characters`, '400 `invalid_structure`'],
  ['webhooks of a project’s files', count(mostFileWebhooks), '400 `invalid_rules`'],
  [
    'expiry of a link, also for uploads',
    `1 second to ${longestLifetime / 86_400} days`,
    '400 `invalid_body`',
  ],
];

/** Rows of "Limits" of docs/live.md. */
export const liveLimits: readonly Limit[] = [
  [
    'records of a find',
    `\`$limit\`, at most ${count(mostLive)}, and ${bytes(mostLiveBytes)} of values`,
    '413 `too_many_records`, with the count',
  ],
  [
    'conditions',
    `what they cost to try on each change: ${mostCost}, where a comparison counts 1, one of texts ${textCost}, and one of an ARRAY, an OBJECT or a path ${jsonCost}`,
    '422 `query_too_expensive`, which names the dearest',
  ],
  ['hashed fields', 'none', '422'],
  ['live queries of a process', setting(liveMaxStreams, count), '429 `too_many_streams`, with Retry-After'],
  ['live queries of an access token, in a process', setting(liveMaxTokenStreams, count), 'the same'],
  ['several processes', 'REDIS_URL, and one ClickHouse server a store', '501'],
];

function count(number: number): string {
  return number.toLocaleString('en');
}

function bytes(number: number): string {
  if (number % 1024 !== 0) return `${count(number / 1_000_000)} MB`;
  return number % 1024 ** 2 === 0 ? `${count(number / 1024 ** 2)} MiB` : `${count(number / 1024)} KiB`;
}

/** A variable, and its default. */
function setting({ name, read }: Variable<number>, shown: (number: number) => string): string {
  return `${name}, ${shown(read(undefined, []))}`;
}

/** In tens of thousands: with 8 fields whose names have five characters. */
function recordsOfUsualSpace(): number {
  const field = { name: 'title', defaultValue: null } as Parameters<typeof maxRecords>[0]['fields'][number];
  return Math.round(maxRecords({ fields: Array(8).fill(field) }) / 10_000) * 10_000;
}
