import { hostileTexts } from '../hostile-texts.ts';
import { seededRandom } from '../s3-stub/seeded-random.ts';

/** Choices that are the same for the same seed. */
export interface Dice {
  /** From 0 up to, and without, the limit. */
  below(limit: number): number;
  pick<Item>(items: readonly Item[]): Item;
  chance(share: number): boolean;
  /** Hostile, long or made of any characters, and well-formed. */
  text(): string;
  /** Any JSON value, as text. */
  json(): string;
  bytes(length: number): Buffer;
}

export function createDice(seed: number): Dice {
  const random = seededRandom(seed);
  const below = (limit: number): number => Math.floor(random() * limit);
  const pick = <Item>(items: readonly Item[]): Item => items[below(items.length)] as Item;
  const chance = (share: number): boolean => random() < share;
  const anyText = (): string => {
    const points = Array.from({ length: 1 + below(20) }, () => {
      const point = below(chance(0.7) ? 0x80 : chance(0.8) ? 0x3000 : 0x110000);
      return point >= 0xd800 && point <= 0xdfff ? 0x20 : point;
    });
    return String.fromCodePoint(...points);
  };
  const json = (depth = 0): string => {
    const kind = below(depth > 3 ? 6 : 8);
    if (kind === 0) return 'null';
    if (kind === 1) return pick(['true', 'false']);
    if (kind === 2) return pick(['0', '-0', '-1', '1.5', '1e308', '1e999', '5e-324', String(below(1e9))]);
    if (kind <= 5) return JSON.stringify(chance(0.3) ? text() : pick(['', 'a', '1', 'true', 'TEXT']));
    const items = Array.from({ length: below(4) }, () => json(depth + 1));
    if (kind === 6) return `[${items.join()}]`;
    return `{${items.map((item) => `${JSON.stringify(pick(['a', '__proto__', text()]))}:${item}`).join()}}`;
  };
  const text = (): string => {
    if (chance(0.02)) return pick(hostileTexts).repeat(1 + below(200));
    return chance(0.6) ? pick(hostileTexts) : anyText();
  };
  return {
    below,
    pick,
    chance,
    text,
    json: () => json(),
    bytes: (length) => Buffer.from(Array.from({ length }, () => below(256))),
  };
}
