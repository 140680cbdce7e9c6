import { type Html, html } from './html.ts';

/** A chart. Places on it go from 0 to 1, from the left and from below. */
export interface Plot {
  readonly name: string;
  /** What it shows, for those who don't see it. */
  readonly summary: string;
  /** What the axes measure, with their units. */
  readonly captions: { readonly x: string; readonly y: string };
  readonly x: readonly Tick[];
  readonly y: readonly Tick[];
  readonly bands?: readonly Band[];
  readonly areas?: readonly Area[];
  readonly lines: readonly Line[];
  /** What a pointer is told. */
  readonly spots: readonly { readonly from: number; readonly to: number; readonly text: string }[];
}

export interface Tick {
  readonly at: number;
  readonly label: string;
}

export interface Band {
  readonly from: number;
  readonly to: number;
  readonly label: string;
  readonly counts: boolean;
}

type Point = readonly [x: number, y: number];

/** How it is drawn: a class of page-style.ts. */
export type Look = 'first' | 'second' | 'third' | 'bad' | 'quiet' | 'first dots' | 'bad dots';

export interface Line {
  readonly name: string;
  readonly look: Look;
  /** Null: a gap. */
  readonly points: readonly (Point | null)[];
}

export interface Area {
  readonly name: string;
  readonly look: Look;
  readonly upper: readonly Point[];
  readonly lower: readonly Point[];
}

/**
 * A figure that fits any width. Lines are in a picture that is stretched, with strokes that are not; texts are in pictures of
 * their own, at percentages, because stretching would distort them.
 */
export function renderPlot(plot: Plot): Html {
  const { name, summary, captions, lines, areas = [], bands = [] } = plot;
  return html`<figure class="chart">
<figcaption><h2>${name}</h2><ul class="legend">${[...lines, ...areas]
    .filter((one) => one.name !== '')
    .map(
      (one) =>
        html`<li><svg class="key" aria-hidden="true"><path class="${one.look}" d="M0 6h18" fill="none"/></svg>${one.name}</li>`,
    )}</ul></figcaption>
<p class="caption">${captions.y}</p>
<div class="frame">
${bands.length > 1 && html`<svg class="bands" aria-hidden="true">${bands.map(renderLabel)}</svg>`}
<svg class="y-axis" aria-hidden="true">${plot.y.map(
    ({ at, label }) =>
      html`<text x="100%" y="${percent(1 - at)}" dy=".32em" text-anchor="end">${label}</text>`,
  )}</svg>
<svg class="plot" viewBox="0 0 1000 1000" preserveAspectRatio="none" role="img" aria-label="${summary}">${drawing(plot)}</svg>
<svg class="x-axis" aria-hidden="true">${plot.x.map(
    ({ at, label }) => html`<text x="${percent(at)}" y="1.1em" text-anchor="middle">${label}</text>`,
  )}</svg>
</div>
<p class="caption end">${captions.x}</p>
</figure>`;
}

function drawing({ y, bands = [], areas = [], lines, spots }: Plot): Html {
  return html`${bands.map(renderBand)}<path class="grid" d="${y.map(({ at }) => `M0 ${down(at)}h1000`).join('')}"/>
${areas.map(({ look, upper, lower }) => html`<path class="area ${look}" d="${pathOf([...upper, ...lower.toReversed()])}Z"/>`)}
${lines.map(({ look, points }) => html`<path class="${look}" fill="none" d="${pathOf(points)}"/>`)}
<g class="spots">${spots.map(
    ({ from, to, text }) =>
      html`<rect x="${across(from)}" width="${across(to - from)}" height="1000" fill-opacity="0"><title>${text}</title></rect>`,
  )}</g>`;
}

function renderBand({ from, to, counts }: Band): Html {
  const place = html`x="${across(from)}" width="${across(to - from)}"`;
  return html`<rect class="band ${counts ? 'counts' : ''}" ${place} height="1000" fill-opacity="0"/>${from > 0 && html`<path class="begin" d="M${across(from)} 0v1000"/>`}`;
}

/** Of the width of a wide chart, a letter. */
const letter = 0.008;

/** In a picture of its own, which cuts it off where the next one begins. Half a word says nothing. */
function renderLabel({ from, to, label }: Band): Html | false {
  if (to - from < letter * label.length) return false;
  return html`<svg x="${percent(from)}" width="${percent(to - from)}"><text x="3" y="1em">${label}</text></svg>`;
}

function pathOf(points: readonly (Point | null)[]): string {
  let text = '';
  let isDown = false;
  for (const point of points) {
    if (point !== null) text += `${isDown ? 'L' : 'M'}${across(point[0])} ${down(point[1])}`;
    // a point between two gaps is a dot
    if (point !== null && !isDown) text += 'h0';
    isDown = point !== null;
  }
  return text;
}

const across = (place: number): string => (1000 * place).toFixed(1).replace(/\.0$/, '');
const down = (place: number): string => across(1 - place);
const percent = (place: number): string => `${(100 * place).toFixed(2).replace(/\.?0+$/, '')}%`;
