import { createHash } from 'node:crypto';
import type { RunResult } from '../run/result.ts';
import { capacityPart } from './capacity-part.ts';
import { formatDuration } from './format.ts';
import { Html, html } from './html.ts';
import {
  codesPart,
  costPart,
  phasesPart,
  requestsPart,
  tiles,
  verificationPart,
  warningsPart,
} from './page-parts.ts';
import { pageStyle } from './page-style.ts';
import { percentileChart } from './percentile-chart.ts';
import { renderPlot } from './plot.ts';
import { timeCharts } from './time-charts.ts';

/** The policy allows this style and nothing else: no script, no address. */
const policy = `default-src 'none'; style-src 'sha256-${createHash('sha256').update(pageStyle).digest('base64')}'; base-uri 'none'; form-action 'none'`;

/** A run as one page of HTML that needs nothing else: no script, no other file, no network. */
export function writePage(run: RunResult): string {
  const { mix, target, capacity } = run;
  const [latency, throughput, ...others] = timeCharts(run).map(renderPlot);
  const percentiles = percentileChart(run);
  const page = html`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="${policy}">
<meta name="viewport" content="width=device-width">
<meta name="color-scheme" content="light dark">
<title>${mix.name} against ${target.url}</title>
<style>${new Html(pageStyle)}</style>
</head>
<body>
${header(run)}
<main>
${warningsPart(run)}
${verificationPart(run)}
<section class="wide charts">${latency ?? html`<p>There are no seconds to show.</p>`}</section>
${throughput !== undefined && html`<section class="charts">${throughput}</section>`}
${percentiles !== null && html`<section class="charts">${renderPlot(percentiles)}</section>`}
${others.map((chart) => html`<section class="charts">${chart}</section>`)}
${capacity !== null && capacityPart(capacity)}
${requestsPart(run)}
${phasesPart(run)}
${codesPart(run)}
${costPart(run)}
${aboutPart(run)}
</main>
</body>
</html>
`;
  return page.text;
}

function header(run: RunResult): Html {
  const { mix, target, began, seconds } = run;
  return html`<header><h1><bdi>${mix.name}</bdi> <span class="quiet">against</span> <bdi>${target.url}</bdi></h1>
<p class="quiet">${target.kind}, <time datetime="${began}">${began.replace('T', ' ').replace(/(\.\d+)?Z$/, ' UTC')}</time>, ${formatDuration(seconds)}</p>
${tiles(run)}</header>`;
}

function aboutPart({ machine, tool, mix }: RunResult): Html {
  return html`<section class="wide about"><h2>About this run</h2>
<dl><div><dt>Machine</dt><dd>${machine}</dd></div><div><dt>Tool</dt><dd>${tool}</dd></div><div><dt>Seed</dt><dd>${mix.seed}</dd></div></dl>
<p>Latency counts from the moment at which the schedule wanted the request to start. While a server stands still, requests that
could not start wait, and that wait is part of what its users would see. The time from the real start leaves it out. Only
phases that count are in the totals. In a closed loop both starts are the same.</p>
<details><summary>The mix</summary><pre>${mix.text}</pre></details></section>`;
}
