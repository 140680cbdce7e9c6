import t from 'tap';
import {
  betterOf,
  compareFigures,
  type Figure,
  renderComparisons,
} from '../../bench/guard/compare-figures.ts';

const rate = (value: number, name = 'rate'): Figure => ({ name, value, better: 'higher' });
const cost = (value: number, name = 'cost'): Figure => ({ name, value, better: 'lower' });
const failed = (baseline: readonly Figure[], measured: readonly Figure[]): string[] =>
  compareFigures(baseline, measured)
    .filter((comparison) => comparison.failed)
    .map(({ name }) => name);

t.test('a figure fails when it is a fifth behind, and not before', async (t) => {
  t.strictSame(failed([rate(10)], [rate(8.01)]), []);
  t.strictSame(failed([rate(10)], [rate(8)]), ['rate']);
  t.strictSame(failed([rate(0.5)], [rate(0.4)]), ['rate'], 'whatever binary fractions do to it');
  t.strictSame(failed([rate(10)], [rate(100)]), [], 'better is never behind');
  t.strictSame(failed([cost(0.3)], [cost(0.359)]), []);
  t.strictSame(failed([cost(0.3)], [cost(0.36)]), ['cost'], 'of what should be small, a fifth more');
  t.strictSame(failed([cost(0.3)], [cost(0.01)]), []);
});

t.test('what was not measured has failed, and what the baseline does not know has not', async (t) => {
  t.strictSame(failed([rate(10), cost(1)], [rate(10)]), ['cost']);
  t.strictSame(failed([rate(10)], [rate(Number.NaN)]), ['rate']);
  t.strictSame(failed([rate(10)], [rate(10), rate(1, 'new')]), []);
});

t.test('of two measurements the better one counts, figure by figure', async (t) => {
  const again = betterOf([rate(7), cost(0.5), rate(3, 'alone')], [rate(9), cost(0.6)]);
  t.strictSame(again, [rate(9), cost(0.5), rate(3, 'alone')]);
});

t.test('the table names what is behind', async (t) => {
  const text = renderComparisons(compareFigures([rate(10), cost(1)], [rate(5), cost(0.9), rate(2, 'new')]));
  t.match(text, /\| rate \| 10\.0 \| 5\.0 \| -50 % \| BEHIND \|/);
  t.match(text, /\| cost \| 1\.000 \| 0\.900 \| \+10 % \| right \|/);
  t.match(text, /\| new \| - \| 2\.000 \| {2}\| right \|/);
});
