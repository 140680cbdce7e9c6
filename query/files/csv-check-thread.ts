import { parentPort, workerData } from 'node:worker_threads';
import { type CsvCheckTask, readCsvShape } from './read-csv-shape.ts';

void readCsvShape(workerData as CsvCheckTask, (progress) => parentPort?.postMessage(progress));
// the process ends it (endIdleThread)
parentPort?.on('message', () => {});
