import { AggregatorRegistry, Registry } from 'prom-client';

/** The state of a worker, whether it answered or not. */
export interface WorkerState {
  readonly worker: number;
  readonly restarts: number;
  readonly answered: boolean;
}

interface MetricJson {
  readonly values: readonly { readonly value: number | null }[];
}

export const metricsContentType = Registry.PROMETHEUS_CONTENT_TYPE;

/**
 * The text that Prometheus reads.
 * @param processes the metrics of each process, as `Metrics.json` gives them
 */
export async function renderMetrics(
  processes: readonly (readonly object[])[],
  workers: readonly WorkerState[],
): Promise<string> {
  const ofWorkers = (name: string, help: string, type: string, read: (state: WorkerState) => number) => ({
    name,
    help,
    type,
    aggregator: 'sum',
    values: workers.map((state) => ({ value: read(state), labels: { worker: `${state.worker}` } })),
  });
  const all = [
    ...processes.map((metrics) => (metrics as MetricJson[]).map(onlyNumbers)),
    [
      ofWorkers('sluice_worker_up', 'Whether the worker answered this scrape', 'gauge', ({ answered }) =>
        answered ? 1 : 0,
      ),
      ofWorkers(
        'sluice_worker_restarts_total',
        'How often the worker was started again',
        'counter',
        ({ restarts }) => restarts,
      ),
    ],
  ];
  return AggregatorRegistry.aggregate(all).metrics();
}

/** JSON has no NaN, which is the average of no values. */
function onlyNumbers(metric: MetricJson): MetricJson {
  return { ...metric, values: metric.values.filter(({ value }) => Number.isFinite(value)) };
}
