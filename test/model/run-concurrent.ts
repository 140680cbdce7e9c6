import type { QueryAnswer, QueryCall } from '../services/query-harness.ts';
import { structureOf } from '../services/record-client.ts';
import type { ConcurrentPlan, ConcurrentStep } from './concurrent-plan.ts';
import { explained, type Held, type Outcome } from './explain.ts';
import type { ServiceProcesses, Tally } from './run-sequence.ts';
import { at } from './value-pools.ts';

const fields = [
  { name: 'a', type: 'NUMBER' },
  { name: 'b', type: 'NUMBER' },
  { name: 'c', type: 'NUMBER' },
  { name: 'u', type: 'TEXT', unique: true },
  { name: 'state', type: 'TEXT' },
  { name: 'taker', type: 'NUMBER' },
];
const waiting = { state: 'waiting' };
const empty = { a: null, b: null, c: null, u: null, state: null, taker: null };

/** Runs rounds of concurrent operations, and throws when no order of what was acknowledged explains what is left. */
export async function runConcurrent(
  plan: ConcurrentPlan,
  project: string,
  processes: ServiceProcesses,
  tally: Tally,
): Promise<void> {
  const path = `/${project}/shared`;
  const structure = structureOf(project, 'shared', fields);
  const call = (process: number, more: Partial<QueryCall>): Promise<QueryAnswer> =>
    processes.call(process % processes.count, { path, structure, ...more });
  const initial = plan.waiting.map((waits) => (waits ? waiting : { state: 'idle' }));
  const first = await call(0, { body: initial });
  if (first.status !== 200) throw new Error(`answered ${first.status} ${first.problems.join()}`);
  let state = heldOf(first.body);
  const known = [...state.keys()];
  for (const [round, steps] of plan.rounds.entries()) {
    // what is stored by another process while one counts and clears is beyond what the contract promises
    const onlyFirst = steps.some(({ kind }) => kind === 'clear');
    const asked = steps
      .map((step) => (onlyFirst ? { ...step, process: 0 } : step))
      .map((step, index) => request(step, known, path, round * 100 + index));
    const answers = await Promise.all(asked.map(({ process, sent }) => call(process, sent)));
    tally.operations += asked.length;
    const outcomes = asked.flatMap(({ outcome }, index) => outcome(answers[index] as QueryAnswer) ?? []);
    const left = await Promise.all(
      Array.from({ length: processes.count }, (_, process) => call(process, {})),
    );
    const [found] = left;
    const after = heldOf(found?.body);
    const told = (): string =>
      [
        `before: ${shown(state)}`,
        ...asked.map(({ process, sent }, index) => {
          const { status, code, text } = answers[index] as QueryAnswer;
          return `process ${process}: ${JSON.stringify(sent)}: ${status} ${code ?? text}`;
        }),
        `after: ${shown(after)}`,
      ].join('\n');
    if (left.some(({ text }) => text !== found?.text))
      throw new Error(`${told()}\nprocesses see different records`);
    if (!explained(state, outcomes, after)) throw new Error(`${told()}\nno order explains this`);
    for (const outcome of outcomes) {
      tally.outcomes.set(outcome.kind, (tally.outcomes.get(outcome.kind) ?? 0) + 1);
      if (outcome.kind === 'inserted') known.push(outcome.id);
    }
    state = after;
  }
  tally.sequences++;
}

interface Asked {
  readonly process: number;
  readonly sent: Partial<QueryCall>;
  /** Null: it says nothing about the order. */
  readonly outcome: (answer: QueryAnswer) => Outcome | null;
}

/**
 * The contract promises queues, unique values under concurrency and a delete that is answered once within a process,
 * so these all go to the first one. @param tag tells what this operation writes from all else
 */
function request(step: ConcurrentStep, known: readonly string[], path: string, tag: number): Asked {
  const id = at(known, step.record);
  const byId = [['id', id]] as const;
  switch (step.kind) {
    case 'set': {
      const changes = Object.fromEntries(step.fields.map((name) => [name, tag]));
      return {
        process: step.process,
        sent: { path: `${path}/update-by-id`, query: byId, body: changes },
        outcome: (answer) => changedOr(answer, 'no_match', { kind: 'absent', id }, changes),
      };
    }
    case 'take': {
      const changes = { state: 'taken', taker: tag };
      return {
        process: 0,
        sent: { path: `${path}/update`, query: [['state', 'waiting']], body: changes },
        outcome: (answer) => changedOr(answer, 'no_match', { kind: 'none', when: waiting }, changes, waiting),
      };
    }
    case 'claim': {
      const unique = step.unique ?? 'x';
      return {
        process: 0,
        sent: { path: `${path}/update-by-id`, query: byId, body: { u: unique } },
        outcome: (answer) =>
          answer.code === 'not_unique'
            ? { kind: 'taken', id, unique }
            : changedOr(answer, 'no_match', { kind: 'absent', id }, { u: unique }),
      };
    }
    case 'insert': {
      const record = { ...empty, a: tag, u: step.unique, state: step.waiting ? 'waiting' : null };
      return {
        process: step.unique === null ? step.process : 0,
        sent: { path: `${path}/_single_`, body: record },
        outcome: (answer) => {
          if (answer.code === 'not_unique' && step.unique !== null) {
            return { kind: 'taken', id: null, unique: step.unique };
          }
          return { kind: 'inserted', id: okBody(answer).id as string, record };
        },
      };
    }
    case 'delete':
      return {
        process: 0,
        sent: { method: 'DELETE', path, query: byId },
        outcome: (answer) => {
          if (answer.code === 'no_match') return { kind: 'absent', id };
          if (okBody(answer).id !== id) throw new Error(`deleted ${answer.text}, not ${id}`);
          return { kind: 'deleted', id };
        },
      };
    case 'clear':
      return {
        process: 0,
        sent: { method: 'DELETE', path: `${path}/clear-records` },
        outcome: (answer) => {
          return { kind: 'cleared', deleted: okBody(answer).deleted };
        },
      };
    case 'find':
      return {
        process: step.process,
        sent: { path },
        outcome: (answer) => {
          heldOf(okBody(answer));
          return null;
        },
      };
  }
}

/** An update that was made, or what its refusal says; `changes` are in the answer. */
function changedOr(answer: QueryAnswer, code: string, refused: Outcome, changes: object, when = {}): Outcome {
  if (answer.code === code) return refused;
  const { id } = okBody(answer);
  return { kind: 'changed', id: String(id), changes, when };
}

function okBody({ status, body, code, problems }: QueryAnswer): Record<string, unknown> {
  if (status !== 200) throw new Error(`answered ${status} ${code} ${problems.join()}`);
  return body;
}

/** Records of an answer, each of which is there once. */
function heldOf(records: unknown): Held {
  const list = records as readonly Record<string, unknown>[];
  const held = new Map(
    list.map(({ id, a, b, c, u, state, taker }) => [String(id), { a, b, c, u, state, taker }] as const),
  );
  if (held.size < list.length) throw new Error(`a record is there twice: ${JSON.stringify(records)}`);
  return held;
}

function shown(state: Held): string {
  return JSON.stringify([...state]);
}
