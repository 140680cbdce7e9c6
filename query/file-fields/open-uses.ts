import type { RecordPlace } from '#catalogue/file-uses/file-use.ts';

type Use = RecordPlace & { readonly name: string };

/** Uses of this process whose records are being written. A record may be written twice at once. */
export class OpenUses {
  readonly #counts = new Map<string, number>();

  open(uses: readonly Use[]): void {
    for (const use of uses) {
      const key = keyOf(use);
      this.#counts.set(key, (this.#counts.get(key) ?? 0) + 1);
    }
  }

  close(uses: readonly Use[]): void {
    for (const use of uses) {
      const key = keyOf(use);
      const count = (this.#counts.get(key) ?? 0) - 1;
      if (count > 0) this.#counts.set(key, count);
      else this.#counts.delete(key);
    }
  }

  has(use: Use): boolean {
    return this.#counts.has(keyOf(use));
  }
}

function keyOf({ space, record, name }: Use): string {
  return `${space} ${record} ${name}`;
}
