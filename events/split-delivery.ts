import type { Delivery, NewDelivery } from './delivery.ts';

/**
 * Deliveries of one record each in place of one of several. Their ids come right after its own, so records keep their
 * order also where deliveries are read from the store, and a split that is repeated makes the same ones.
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

/** Id of the delivery that one with this id was split off; meaningless for others. */
export function wholeOf(id: string): string {
  return id.slice(0, -4);
}

export function isSplitOff({ id }: Pick<Delivery, 'id'>): boolean {
  return /-\d{3}$/.test(id);
}
