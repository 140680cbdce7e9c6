/**
 * Loaded before a server under test, which then kills itself (SIGKILL) at the moment of an import that
 * SLUICE_TEST_KILL_AT names. No import begins before it gets a SIGUSR2: by then they are acknowledged.
 */
import { JobTable } from '#query/imports/jobs/job-table.ts';
import { TypeChanges } from '#query/space/type-changes.ts';
import { StagedRecords } from '#records/sql/staged-records.ts';
import type { ImportMoment } from './import-moments.ts';

const moment = process.env.SLUICE_TEST_KILL_AT as ImportMoment | undefined;
const armed =
  moment === undefined
    ? Promise.resolve()
    : new Promise<void>((resolve) => process.once('SIGUSR2', () => resolve()));

function at(now: ImportMoment): void {
  if (now === moment) process.kill(process.pid, 'SIGKILL');
}

const { store } = JobTable.prototype;
JobTable.prototype.store = async function (job) {
  if (job.version > 1) await armed;
  if (job.version > 1) at(`before ${job.state}` as ImportMoment);
  await store.call(this, job);
  if (job.version > 1) at(`after ${job.state}` as ImportMoment);
};

const { hold } = TypeChanges.prototype;
TypeChanges.prototype.hold = function (id, work) {
  at('before held');
  return hold
    .call(this, id, (entry, signal) => {
      at('held');
      return work(entry, signal);
    })
    .finally(() => at('freed')) as ReturnType<typeof work>;
};

const { create, attach } = StagedRecords.prototype;
StagedRecords.prototype.create = function () {
  at('staging');
  return create.call(this);
};
StagedRecords.prototype.attach = function () {
  at('attaching');
  return attach.call(this);
};
