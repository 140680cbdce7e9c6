import type { Delivery, NewDelivery } from './delivery.ts';

/**
 * Splits a delivery of several records into deliveries of one record each. Their ids sort right after the original one, so
 * records keep their order when deliveries are read from the store. A repeated split makes the same deliveries.
 */
export function splitDelivery(delivery: Delivery, content: string, now: Date): readonly NewDelivery[] {
  const { records, ...head } = JSON.parse(content) as { readonly records: readonly unknown[] };
  return records.map((record, index) => {
    const id = `${delivery.id}-${String(index).padStart(3, '0')}`;
    const recordIds = delivery.recordIds.slice(index, index + 1);
    const text = JSON.stringify({ ...head, deliveryId: id, recordIds, records: [record] });
    const progress = {
      state: 'pending',
      attempts: 0,
      status: 0,
      problem: '',
      updatedAt: now,
      nextAt: now,
    } as const;
    return [{ ...delivery, ...progress, id, recordIds, bytes: Buffer.byteLength(text) }, text];
  });
}

/** The id of the delivery that this one was split off; meaningless for other deliveries. */
export function wholeOf(id: string): string {
  return id.slice(0, -4);
}

export function isSplitOff({ id }: Pick<Delivery, 'id'>): boolean {
  return /-\d{3}$/.test(id);
}
