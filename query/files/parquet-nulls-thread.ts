import { parentPort, workerData } from 'node:worker_threads';
import { findNull, type NullTask } from './parquet-nulls.ts';

void findNull(workerData as NullTask).then((message) => parentPort?.postMessage(message));
// the process ends it (endIdleThread)
parentPort?.on('message', () => {});
