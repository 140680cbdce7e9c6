import { parentPort, workerData } from 'node:worker_threads';

/**
 * Does the task of this thread, and then waits for the process to end it (`endingThread`).
 * @param work its second argument sends a message to the process
 */
export function doTask<Task>(work: (task: Task, post: (message: unknown) => void) => Promise<void>): void {
  void work(workerData as Task, (message) => parentPort?.postMessage(message));
  // without a listener the thread would end by itself
  parentPort?.on('message', () => {});
}
