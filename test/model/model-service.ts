import type { QueryCall } from '../services/query-harness.ts';
import { type Expected, type Refusal, Refused, refusal, throwAny } from './expected.ts';
import { isObject, parsedJson, readValue } from './model-field.ts';
import { type ModelRecord, newRecord, shown } from './model-space.ts';
import { ModelSpaces, type OpenedSpace, type ProcessMemory } from './model-spaces.ts';
import {
  fieldOf,
  inferredStructure,
  type ModelStructure,
  readStructure,
  shownStructure,
} from './model-structure.ts';
import { type Pairs, paged, readConditions, readOptions, readSearch, select } from './read-rules.ts';
import { isRecordBody, notUnique, readChanges, readNew, takenFields } from './write-rules.ts';

/** A call with what every operation looks at taken apart. */
interface ModelCall {
  readonly project: string;
  readonly space: string;
  readonly operation: string;
  readonly owner: string;
  readonly pairs: Pairs;
  /** Undefined for what is no JSON. */
  readonly body: unknown;
  readonly header: (name: string) => string | undefined;
}

type Operation = (call: ModelCall, opened: OpenedSpace) => Expected;

/**
 * The query service as its contract describes it, in memory: it answers a call with what the service has to answer.
 * Login tokens are told to it by `issued`.
 */
export class ModelService {
  readonly spaces = new ModelSpaces();
  /** Users by their login tokens. */
  readonly tokens = new Map<string, { readonly space: string; readonly user: ModelRecord }>();

  call(call: QueryCall, memory: ProcessMemory): Expected {
    try {
      return this.#answer(taken(call), memory);
    } catch (error) {
      if (error instanceof Refused) return { kind: 'refused', any: error.any };
      throw error;
    }
  }

  #answer(call: ModelCall, memory: ProcessMemory): Expected {
    if (call.operation === 'POST get-inferred-structure') {
      const inferred = this.#inferred(call);
      return { kind: 'json', value: shownStructure(inferred) };
    }
    const operation = operations[call.operation];
    if (operation === undefined) throw new Error(`the model has no ${call.operation}`);
    const opened = this.#open(call, memory);
    if (call.operation === 'GET get-token-owner') return this.#tokenOwner(call, opened);
    return operation(call, opened);
  }

  #inferred({ body, project, space }: ModelCall, stored?: ModelStructure): ModelStructure {
    const inferred = inferredStructure(body, { project, space }, stored);
    if (inferred === null) throw new Refused([refusal('invalid_body')]);
    if ('typeless' in inferred) {
      throw new Refused([
        refusal(
          'invalid_value',
          inferred.typeless.map((name) => `'${name}'`),
        ),
      ]);
    }
    const structure = readStructure(inferred.text, { project, space });
    if (structure === null) throw new Refused([refusal('invalid_structure')]);
    return structure;
  }

  #open(call: ModelCall, memory: ProcessMemory): OpenedSpace {
    const { header, owner, project, operation } = call;
    const wrong: Refusal[] = [];
    const flag = (name: string, absent: boolean): boolean => {
      const text = header(name) ?? String(absent);
      if (text !== 'true' && text !== 'false') wrong.push(refusal('invalid_header', [name]));
      return text === 'true';
    };
    const flags = {
      createProject: flag('auto-create-project', true),
      createSpace: flag('auto-create-record-space', true),
      mutate: flag('mutate', true),
      makes: !operation.startsWith('GET'),
      sets: operation.endsWith('-structure'),
    };
    const preStored = flag('use-pre-stored-structure', false);
    const clearsAll = flag('clear-all-spaces', false);
    if (preStored && flags.sets) wrong.push(refusal('invalid_header'));
    // these read their headers before their body
    if (flags.sets) throwAny(wrong);
    let { space } = call;
    let structure: ModelStructure | null = null;
    let structureText: string | null = null;
    if (operation === 'POST set-inferred-structure') {
      structure = this.#inferred(call, this.spaces.get(owner, project, space)?.stored);
    } else if (operation === 'POST set-structure') {
      structure = isObject(call.body)
        ? readStructure(JSON.stringify({ projectSlug: project, slug: space, ...call.body }), call)
        : null;
      if (structure === null) wrong.push(refusal(isObject(call.body) ? 'invalid_structure' : 'invalid_body'));
    } else if (operation === 'POST login') {
      const only = onlyStructure(header('function-resources'));
      if (only === null) throw new Refused([refusal('invalid_header', ['function-resources'])]);
      space = String(only.slug);
      structureText = JSON.stringify(only);
      structure = readStructure(structureText, { project, space });
      if (structure === null) wrong.push(refusal('invalid_structure'));
    } else if (!preStored) {
      structureText = header('structure') ?? null;
      if (structureText === null)
        wrong.push(refusal('missing_structure', ['Please set structure in Request Header']));
      else structure = readStructure(structureText, call);
      if (structureText !== null && structure === null) wrong.push(refusal('invalid_structure'));
    }
    if (clearsAll || structure?.clear === true) wrong.push(refusal('clear_not_allowed'));
    throwAny(wrong);
    return this.spaces.open({ owner, project, space, structure, structureText, ...flags }, memory);
  }

  #tokenOwner(
    { header, owner, project, space }: ModelCall,
    { space: { records }, view }: OpenedSpace,
  ): Expected {
    const issued = this.tokens.get(header('token') ?? '');
    const here = issued !== undefined && issued.space === JSON.stringify([owner, project, space]);
    if (!here || !records.includes(issued.user)) throw new Refused([refusal('unauthorized', [], 401)]);
    return { kind: 'record', record: shown(issued.user, view) };
  }

  /** Notes a token that a login was answered with. */
  issued(token: string, { owner = 'owner', path }: QueryCall, slug: string, user: ModelRecord): void {
    this.tokens.set(token, { space: JSON.stringify([owner, path.split('/')[1], slug]), user });
  }
}

const operations: Readonly<Record<string, Operation>> = {
  'GET ': (call, opened) => ({
    kind: 'records',
    records: found(call, opened).map((each) => shown(each, opened.view)),
  }),
  'GET _single_': (call, opened) => {
    const [first] = found(call, opened);
    return { kind: 'record', record: first === undefined ? null : shown(first, opened.view) };
  },
  'GET search': ({ pairs, header }, { space, view }) => {
    const wrong: Refusal[] = [];
    const options = readOptions(header('options'), view, wrong);
    const holds = readSearch(pairs, view, wrong);
    throwAny(wrong);
    const records = space.records.filter(holds);
    const page = paged(options.sort === null ? records : options.sort(records), options.page);
    return { kind: 'records', records: page.map((each) => shown(each, view)) };
  },
  'GET get-key-values': (_, { space: { records }, view }) => ({
    kind: 'record',
    record: records[0] === undefined ? null : shown(records[0], view),
  }),
  'GET get-token-owner': () => {
    throw new Error('answered elsewhere');
  },
  'POST ': ({ body }, opened) => {
    if (!Array.isArray(body) || body.length === 0) throw new Refused([refusal('invalid_body')]);
    if (!body.every(isRecordBody)) throw new Refused([refusal('invalid_body')]);
    return { kind: 'records', records: insert(body, opened).map((each) => shown(each, opened.view)) };
  },
  'POST _single_': ({ body }, opened) => {
    if (!isRecordBody(body)) throw new Refused([refusal('invalid_body')]);
    return { kind: 'record', record: shown(insert([body], opened)[0] as ModelRecord, opened.view) };
  },
  'POST update': ({ pairs, header, body }, opened) => {
    const { space, view } = opened;
    const wrong: Refusal[] = [];
    const options = readOptions(header('options'), view, wrong);
    const conditions = readConditions(pairs, view, options.either, wrong);
    if (pairs.length === 0) wrong.push(refusal('no_conditions'));
    const change = changeOf(body, opened, wrong);
    throwAny(wrong);
    return change(select(space.records, conditions, options)[0]);
  },
  'POST update-by-id': ({ pairs, body }, opened) => {
    const wrong: Refusal[] = [];
    const id = onlyId(pairs, wrong);
    const change = changeOf(body, opened, wrong);
    throwAny(wrong);
    return change(opened.space.records.find((record) => record.id === id));
  },
  'POST set-key-values': ({ body }, opened) => {
    const { space, view } = opened;
    const wrong: Refusal[] = [];
    const change = changeOf(body, opened, wrong);
    throwAny(wrong);
    if (space.records.length > 0) return change(space.records[0]);
    // what is required may come later
    const fields = view.fields.map((field) => ({ ...field, required: false }));
    const [group] = insert([body as object], { space, view: { ...view, fields } });
    return { kind: 'record', record: shown(group as ModelRecord, view) };
  },
  'DELETE ': ({ pairs }, { space, view }) => {
    const wrong: Refusal[] = [];
    const id = onlyId(pairs, wrong);
    throwAny(wrong);
    const record = space.records.find((each) => each.id === id);
    if (record === undefined) throw new Refused([refusal('no_match')]);
    space.records = space.records.filter((each) => each !== record);
    return { kind: 'record', record: shown(record, view) };
  },
  'DELETE clear-records': (_, { space }) => {
    const deleted = space.records.length;
    space.records = [];
    return { kind: 'json', value: { deleted } };
  },
  'POST login': ({ body }, { space: { records }, view }) => {
    if (!isObject(body)) throw new Refused([refusal('invalid_body')]);
    const problems: string[] = [];
    const plain: ((record: ModelRecord) => boolean)[] = [];
    const hashed: ((record: ModelRecord) => boolean)[] = [];
    for (const [key, given] of Object.entries(body)) {
      const field = fieldOf(view, key);
      const value = field === undefined && key !== 'id' ? null : readValue(field?.type ?? 'TEXT', given);
      if (value === null) problems.push(`'${field?.name ?? key}'`);
      else if (field === undefined) plain.push(({ id }) => id === value);
      else (field.hashed ? hashed : plain).push(({ values }) => values.get(field.slug) === value);
    }
    if (problems.length > 0) throw new Refused([refusal('invalid_value', problems)]);
    if (plain.length === 0 || hashed.length === 0) throw new Refused([refusal('invalid_condition')]);
    const user = records.find((record) => plain.every((holds) => holds(record)));
    if (user === undefined || !hashed.every((holds) => holds(user))) {
      throw new Refused([refusal('unauthorized', [], 401)]);
    }
    return { kind: 'login', user: shown(user, view) };
  },
  'POST set-structure': (_, { space }) => ({ kind: 'json', value: shownStructure(space.stored) }),
  'POST set-inferred-structure': (_, { space }) => ({ kind: 'json', value: shownStructure(space.stored) }),
};

function found({ pairs, header }: ModelCall, { space, view }: OpenedSpace): ModelRecord[] {
  const wrong: Refusal[] = [];
  const options = readOptions(header('options'), view, wrong);
  const conditions = readConditions(pairs, view, options.either, wrong);
  throwAny(wrong);
  return select(space.records, conditions, options);
}

/** All of them or none. */
function insert(bodies: readonly object[], { space, view }: OpenedSpace): ModelRecord[] {
  const read = bodies.map((body) => readNew(body, view));
  const problems = read.flatMap((each) => each.problems);
  if (problems.length > 0) throw new Refused([{ ...refusal('invalid_value', problems), exactly: true }]);
  const taken = takenFields(
    view,
    space.records,
    read.map(({ values }) => values),
  );
  if (taken.length > 0) throw new Refused([notUnique(taken)]);
  const records = read.map(({ values }) => newRecord(values));
  space.records.push(...records);
  return records;
}

/** What a body makes of a record; undefined is none. Faults of the body are added to `wrong`. */
function changeOf(
  body: unknown,
  { space, view }: OpenedSpace,
  wrong: Refusal[],
): (record: ModelRecord | undefined) => Expected {
  const { given, problems } = isRecordBody(body)
    ? readChanges(body, view)
    : { given: new Map(), problems: [] };
  if (!isRecordBody(body)) wrong.push(refusal('invalid_body'));
  if (problems.length > 0) wrong.push({ ...refusal('invalid_value', problems), exactly: true });
  return (record) => {
    const others = space.records.filter((other) => other !== record);
    const changes = new Map([...given].map(([{ slug }, value]) => [slug, value]));
    const taken = takenFields(view, others, [changes]);
    const refusals = taken.length > 0 ? [notUnique(taken)] : [];
    // with both faults either may be named
    if (record === undefined) throw new Refused([refusal('no_match'), ...refusals]);
    throwAny(refusals);
    for (const [slug, value] of changes) {
      if (value === null) record.values.delete(slug);
      else record.values.set(slug, value);
    }
    record.changedAfter = record.updatedAt ?? 'createdAt';
    record.updatedAt = null;
    return { kind: 'record', record: shown(record, view) };
  };
}

function onlyId(pairs: Pairs, wrong: Refusal[]): string {
  const [pair] = pairs;
  if (pairs.length !== 1 || pair?.[0] !== 'id' || !pair[1].isWellFormed())
    wrong.push(refusal('invalid_condition'));
  return pair?.[1] ?? '';
}

function onlyStructure(header: string | undefined): Record<string, unknown> | null {
  const resources = header === undefined ? null : parsedJson(header);
  const list = isObject(resources) ? resources.mustExistSpaceStructures : null;
  const [only, ...more] = Array.isArray(list) ? (list as unknown[]) : [];
  return isObject(only) && more.length === 0 ? only : null;
}

function taken(call: QueryCall): ModelCall {
  const [, project = '', space = '', suffix = ''] = call.path.split('/');
  const method = call.method ?? (call.body === undefined ? 'GET' : 'POST');
  return {
    project,
    space,
    operation: `${method} ${suffix}`,
    owner: call.owner ?? 'owner',
    pairs: (call.query ?? []) as Pairs,
    body: typeof call.body === 'string' ? parsedJson(call.body) : call.body,
    header: (name) =>
      name === 'structure' && call.structure !== undefined ? call.structure : call.headers?.[name],
  };
}
