import { isDeepStrictEqual } from 'node:util';
import type { QueryAnswer } from '../services/query-harness.ts';
import type { Expected, ExpectedRecord, Refusal } from './expected.ts';

const uuidV7 = /^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/;

/**
 * What is wrong with an answer; null when nothing is. What only the service can know (ids, times) is checked by its
 * form, and noted in the model when it is seen for the first time.
 */
export function difference(expected: Expected, actual: QueryAnswer): string | null {
  if (expected.kind === 'refused') {
    const reasons = expected.any.map((refusal) => refusalDifference(refusal, actual));
    return reasons.includes(null) ? null : reasons.join('; or ');
  }
  if (actual.status !== 200) return `answered ${actual.status} ${actual.code} ${actual.problems.join(' | ')}`;
  const { body } = actual;
  switch (expected.kind) {
    case 'record':
      if (expected.record === null) return body === null ? null : `answered ${actual.text}, not null`;
      return recordDifference(expected.record, body);
    case 'records': {
      if (!Array.isArray(body)) return `answered ${actual.text}`;
      const { records } = expected;
      if (body.length !== records.length) return `answered ${body.length} records, not ${records.length}`;
      return firstOf(
        records.map((record, index) => () => recordDifference(record, body[index], `[${index}]`)),
      );
    }
    case 'login':
      if (!isDeepStrictEqual(Object.keys(body ?? {}), ['token', 'user'])) return `answered ${actual.text}`;
      return recordDifference(expected.user, body.user);
    case 'json':
      return isDeepStrictEqual(body, expected.value)
        ? null
        : `answered ${actual.text}, not ${JSON.stringify(expected.value)}`;
  }
}

function refusalDifference({ status, code, problems, exactly }: Refusal, actual: QueryAnswer): string | null {
  if (actual.status !== status || actual.code !== code) {
    const shown = actual.status === 200 ? actual.text : actual.problems.join(' | ');
    return `answered ${actual.status} ${actual.code} ${shown}, not ${status} ${code} ${problems.join(' | ')}`;
  }
  const said = [...actual.problems];
  for (const problem of problems) {
    const index = said.findIndex((text) => text.includes(problem));
    if (index === -1) return `no problem says ${problem}: ${actual.problems.join(' | ')}`;
    // one text may name several fields, but each wrong value has a text of its own
    if (exactly === true) said.splice(index, 1);
  }
  if (exactly === true && said.length > 0) return `too many problems: ${said.join(' | ')}`;
  return actual.problems.length === 0 ? 'no problem is named' : null;
}

function recordDifference({ record, fields }: ExpectedRecord, body: unknown, where = ''): string | null {
  if (typeof body !== 'object' || body === null)
    return `answered ${JSON.stringify(body)}${where}, not a record`;
  const keys = ['id', ...fields.map(([name]) => name), 'createdAt', 'updatedAt'];
  if (!isDeepStrictEqual(Object.keys(body).sort(), keys.sort())) {
    return `keys${where} are ${Object.keys(body).join()}, not ${keys.join()}`;
  }
  for (const [name, text] of fields) {
    const value: unknown = Object.getOwnPropertyDescriptor(body, name)?.value;
    // through JSON.parse, for which keys such as "10" come first
    const wanted = JSON.stringify(JSON.parse(text));
    if (JSON.stringify(value) !== wanted) return `${name}${where} is ${JSON.stringify(value)}, not ${wanted}`;
  }
  return ownDifference(record, body as Readonly<Record<'id' | 'createdAt' | 'updatedAt', unknown>>, where);
}

function ownDifference(
  record: ExpectedRecord['record'],
  { id, createdAt, updatedAt }: Readonly<Record<'id' | 'createdAt' | 'updatedAt', unknown>>,
  where: string,
): string | null {
  if (typeof id !== 'string' || !uuidV7.test(id)) return `id${where} is ${id}`;
  if (!isTime(createdAt) || !isTime(updatedAt)) return `times${where} are ${createdAt}, ${updatedAt}`;
  if (record.id !== null && record.id !== id) return `id${where} is ${id}, not ${record.id}`;
  if (record.createdAt !== null && record.createdAt !== createdAt) {
    return `createdAt${where} is ${createdAt}, not ${record.createdAt}`;
  }
  if (record.updatedAt !== null && record.updatedAt !== updatedAt) {
    return `updatedAt${where} is ${updatedAt}, not ${record.updatedAt}`;
  }
  if (record.updatedAt === null && record.changedAfter === null && updatedAt !== createdAt) {
    return `updatedAt${where} of a new record is ${updatedAt}, not ${createdAt}`;
  }
  const changedAfter = record.changedAfter === 'createdAt' ? createdAt : record.changedAfter;
  if (changedAfter !== null && updatedAt <= changedAfter) {
    return `updatedAt${where} is ${updatedAt}, not after ${changedAfter}`;
  }
  Object.assign(record, { id, createdAt, updatedAt });
  return null;
}

function isTime(value: unknown): value is string {
  return typeof value === 'string' && /^\d{4}-/.test(value) && new Date(value).toISOString() === value;
}

function firstOf(checks: readonly (() => string | null)[]): string | null {
  for (const check of checks) {
    const problem = check();
    if (problem !== null) return problem;
  }
  return null;
}
