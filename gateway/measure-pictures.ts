import type { Metrics } from '#kernel/telemetry/create-metrics.ts';
import type { PictureMaker } from './images/picture-maker.ts';

/** Adds the metrics of pictures by preset. */
export function measurePictures(
  metrics: Pick<Metrics, 'gauge' | 'counter'>,
  { counts, processes }: Pick<PictureMaker, 'counts' | 'processes'>,
): void {
  metrics.counter('sluice_pictures_made_total', 'Pictures made of files', () => counts.made);
  metrics.counter(
    'sluice_pictures_failed_total',
    'Pictures that could not be made, or not be stored',
    () => counts.failed,
  );
  metrics.gauge('sluice_pictures_in_flight', 'Pictures that are being made', () => processes.running);
  metrics.gauge('sluice_pictures_waiting', 'Pictures that wait for their turn', () => processes.waiting);
}
