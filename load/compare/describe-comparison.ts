import { formatDuration, formatNumber, formatShare, formatTime, oneLine } from '../report/format.ts';
import { textTable } from '../report/text-table.ts';
import type { ComparedFigure, Comparison, Side } from './compare-runs.ts';

/** The comparison in words, with a table of its figures; lines for a terminal. */
export function describeComparison({ a, b, figures, notes }: Comparison): string {
  const lines = [
    `A: ${sideLine(a)}`,
    `B: ${sideLine(b)}`,
    '',
    ...conclusions(figures),
    '',
    ...table(figures),
    '',
    ...notes,
  ];
  return `${lines.map(oneLine).join('\n').trimEnd()}\n`;
}

function sideLine({ runs, seconds, mixes, targets }: Side): string {
  const number = runs === 1 ? '1 run' : `${runs} runs`;
  return `${mixes.join(', ')} against ${targets.join(', ')}: ${number}, ${formatDuration(seconds)} compared`;
}

/** What a reader is to take home. */
function conclusions(figures: readonly ComparedFigure[]): string[] {
  const named = (verdict: ComparedFigure['verdict']): string[] =>
    figures.filter((figure) => figure.verdict === verdict).map(({ name }) => name);
  const changed = figures.filter(({ verdict }) => verdict === 'higher' || verdict === 'lower');
  const same = named('same');
  const unclear = figures.filter((figure) => figure.verdict === 'too little data' && figure.needs !== null);
  const seconds = Math.max(...unclear.map(({ needs }) => needs ?? 0));
  return [
    ...changed.map(conclusion),
    ...(same.length > 0 ? [`No difference larger than the noise: ${same.join(', ')}.`] : []),
    ...(unclear.length === 0
      ? []
      : [
          `Too little data for ${unclear.map(({ name }) => name).join(', ')}: ` +
            `run each side for ${formatDuration(seconds)} or more.`,
        ]),
    ...(figures.every(({ a, b }) => a === null || b === null) ? ['There is nothing to compare.'] : []),
  ];
}

function conclusion({ name, unit, change, noise, verdict, better }: ComparedFigure): string {
  const size = sizeText(change ?? 0, unit);
  const limit = sizeText(noise ?? 0, unit);
  const judged = verdict === better ? 'better' : 'worse';
  return `B is ${judged}: ${name} ${size} ${verdict}, and noise makes up to ${limit}.`;
}

function table(figures: readonly ComparedFigure[]): string[] {
  const rows = figures
    .filter(({ a, b }) => a !== null || b !== null)
    .map((figure) => {
      const { name, unit, a, b, change, noise, verdict } = figure;
      return [
        name,
        valueText(a, unit),
        valueText(b, unit),
        signed(change, unit),
        signed(noise, unit, '±'),
        verdict,
      ];
    });
  if (rows.length === 0) return [];
  return textTable(['a typical second', 'A', 'B', 'change', 'noise', ''], rows, [5]);
}

function valueText(value: number | null, unit: ComparedFigure['unit']): string {
  if (value === null) return '-';
  if (unit === 'share') return formatShare(value);
  return unit === '/s' ? `${formatNumber(value)}/s` : formatTime(value);
}

/** A change as the table has it: `+21 %`. */
function signed(
  value: number | null,
  unit: ComparedFigure['unit'],
  sign = value !== null && value < 0 ? '-' : '+',
) {
  if (value === null) return '-';
  return sign + sizeText(value, unit);
}

/** The size of a change: in percent, or for a difference of two shares in points. */
function sizeText(change: number, unit: ComparedFigure['unit']): string {
  const percent = Math.abs(change) * 100;
  return unit === 'share' ? `${formatNumber(percent)} points` : `${Number(percent.toFixed(1))} %`;
}
