import type { Capacity } from '../run/result.ts';
import { describeCapacity } from './describe-capacity.ts';
import { formatDuration, formatNumber, formatShare, formatTime } from './format.ts';
import { type Html, html } from './html.ts';
import { type Plot, renderPlot } from './plot.ts';
import { linearScale, logarithmicScale } from './scale.ts';
import { table } from './table.ts';

/** A search for capacity: its answer, its steps as a picture and as a table. */
export function capacityPart(capacity: Capacity): Html {
  const { goal, steps } = capacity;
  return html`<section class="wide charts">${steps.length > 0 && renderPlot(stepsChart(steps))}
<p>Goal: <code>${goal}</code>. ${describeCapacity(capacity)}</p>
${table(
  'Steps of the search',
  ['Rate', 'Seconds', 'p99', 'Errors', 'Goal', 'Why'],
  steps.map((step) => [
    `${formatNumber(step.rate)}/s`,
    formatDuration(step.seconds),
    formatTime(step.p99),
    formatShare(step.errors),
    html`<span class="${step.met ? 'met' : 'missed'}">${step.met ? 'met' : 'missed'}</span>`,
    step.why,
  ]),
  { texts: [4, 5] },
)}</section>`;
}

function stepsChart(steps: Capacity['steps']): Plot {
  const p99 = steps.map((step) => Math.max(step.p99, 1e-3));
  const y = logarithmicScale(Math.min(...p99), Math.max(...p99));
  const x = linearScale(Math.max(...steps.map(({ rate }) => rate)));
  // dots: each between two gaps
  const dots = (met: boolean) =>
    steps.flatMap((step) =>
      step.met === met ? [[x.at(step.rate), y.at(Math.max(step.p99, 1e-3))] as const, null] : [],
    );
  const sorted = steps.toSorted((one, other) => one.rate - other.rate);
  return {
    name: 'Capacity: p99 by rate',
    summary: sorted
      .map(({ rate, p99, met }) => `${formatNumber(rate)}/s: ${formatTime(p99)}, ${met ? 'met' : 'missed'}`)
      .join('; '),
    captions: { x: 'requests a second', y: 'p99, logarithmic' },
    x: x.ticks.map((tick) => ({ at: x.at(tick), label: formatNumber(tick) })),
    y: y.ticks.map((tick) => ({ at: y.at(tick), label: formatTime(tick) })),
    lines: [
      { name: 'goal met', look: 'first dots', points: dots(true) },
      { name: 'goal missed', look: 'bad dots', points: dots(false) },
    ],
    spots: [],
  };
}
