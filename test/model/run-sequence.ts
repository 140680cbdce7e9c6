import type { QueryAnswer, QueryCall } from '../services/query-harness.ts';
import { buildCall, type StepScene } from './build-call.ts';
import { difference } from './compare-answer.ts';
import { ModelService } from './model-service.ts';
import type { ProcessMemory } from './model-spaces.ts';
import { type SentStructure, sentStructures } from './plan-structures.ts';
import type { SequencePlan, StepPlan } from './sequence-plan.ts';
import { at, pooledValue } from './value-pools.ts';

/** One or several sets of routes over one engine. */
export interface ServiceProcesses {
  readonly count: number;
  call(process: number, call: QueryCall): Promise<QueryAnswer>;
  /** As if the process had been started anew. */
  forget(process: number): void;
}

/** Attempts to log in that come before any are slowed down: three may fail, and the fourth finds out. */
const logins = 4;

/** What sequences did so far. */
export interface Tally {
  sequences: number;
  operations: number;
  /** Operations by their name and the outcome that the model expects. */
  readonly outcomes: Map<string, number>;
}

export const newTally = (): Tally => ({ sequences: 0, operations: 0, outcomes: new Map() });

/** Runs a sequence against the service and the model, and throws at the first difference. */
export async function runSequence(
  plan: SequencePlan,
  project: string,
  processes: ServiceProcesses,
  tally: Tally,
): Promise<void> {
  const run = new SequenceRun(plan, project, processes, tally);
  for (const step of plan.steps) await run.step(step);
  await run.finish();
  tally.sequences++;
}

class SequenceRun {
  readonly #plan: SequencePlan;
  readonly #project: string;
  readonly #processes: ServiceProcesses;
  readonly #tally: Tally;
  readonly #model = new ModelService();
  readonly #memories: ProcessMemory[];
  readonly #structures: readonly (readonly SentStructure[])[];
  readonly #log: string[] = [];
  #loginsLeft = logins;

  constructor(plan: SequencePlan, project: string, processes: ServiceProcesses, tally: Tally) {
    this.#plan = plan;
    this.#project = project;
    this.#processes = processes;
    this.#tally = tally;
    this.#memories = Array.from({ length: processes.count }, freshMemory);
    this.#structures = plan.spaces.map((space) =>
      sentStructures(space, (fields) =>
        space.initial
          .map(({ values }) => {
            const entries = fields.flatMap((field, index) => {
              const value = values[index] ?? null;
              if (value === null && !field.required && index > 0) return [];
              return [`${JSON.stringify(field.name)}:${pooledValue(field.type, value?.pick ?? index)}`];
            });
            return `{${entries.join()}}`;
          })
          .join(),
      ),
    );
  }

  async step(step: StepPlan): Promise<void> {
    const process = step.process % this.#processes.count;
    if (step.operation === 'forget') {
      this.#log.push(`process ${process} starts anew`);
      this.#processes.forget(process);
      this.#memories[process] = freshMemory();
      return;
    }
    // after failures a process slows down who logs in
    if (step.operation === 'login' && --this.#loginsLeft < 0) return;
    const index = step.space % this.#plan.spaces.length;
    const slug = `s${index}`;
    // mostly one owner
    const owner = step.owner === 1 && step.space > 3 ? 'bob' : 'ann';
    const scene: StepScene = {
      project: this.#project,
      slug,
      owner,
      structure: at(at(this.#structures, index), step.version),
      space: this.#model.spaces.get(owner, this.#project, slug),
      tokens: [...this.#model.tokens.keys()],
    };
    const call = buildCall(step, scene);
    if (call !== null) await this.#check(call, process, step.operation, slug);
    await this.#learn(owner, slug, process);
  }

  /** Every process has the same records of every space, and no owner has any of another. */
  async finish(): Promise<void> {
    for (let process = 0; process < this.#processes.count; process++) {
      for (const index of this.#plan.spaces.keys()) {
        for (const owner of ['ann', 'bob']) await this.#findAll(owner, `s${index}`, process, 'the end');
      }
    }
  }

  /** Ids and times of records that no answer has shown yet. */
  async #learn(owner: string, slug: string, process: number): Promise<void> {
    const space = this.#model.spaces.get(owner, this.#project, slug);
    const isNew = space?.records.some(({ id }) => id === null) === true;
    if (isNew) await this.#findAll(owner, slug, process, 'initial records');
  }

  async #findAll(owner: string, slug: string, process: number, name: string): Promise<void> {
    const headers = { 'use-pre-stored-structure': 'true' };
    await this.#check({ owner, path: `/${this.#project}/${slug}`, headers }, process, name, slug);
  }

  async #check(call: QueryCall, process: number, name: string, slug: string): Promise<void> {
    const expected = this.#model.call(call, this.#memories[process] as ProcessMemory);
    this.#log.push(`process ${process}: ${JSON.stringify(call)}`);
    const answer = await this.#processes.call(process, call).catch((error: unknown) => {
      throw new Error(`${this.#log.join('\n')}\nfailed`, { cause: error });
    });
    this.#tally.operations++;
    const outcome = `${name} ${expected.kind === 'refused' ? expected.any[0]?.code : expected.kind}`;
    this.#tally.outcomes.set(outcome, (this.#tally.outcomes.get(outcome) ?? 0) + 1);
    const problem = difference(expected, answer);
    if (problem !== null) throw new Error(`${this.#log.join('\n')}\n${problem}`);
    if (expected.kind === 'login') this.#model.issued(answer.body.token, call, slug, expected.user.record);
  }
}

function freshMemory(): ProcessMemory {
  return { taken: new Set(), turns: new Map() };
}
