/** The style of the page. Colours follow the system: light or dark. */
export const pageStyle = `
:root {
  color-scheme: light dark;
  --ground: light-dark(#f5f7f7, #101517);
  --surface: light-dark(#ffffff, #171e21);
  --sunken: light-dark(#eef2f3, #0f1416);
  --line: light-dark(#dbe2e4, #2b363a);
  --text: light-dark(#182124, #e5ecee);
  --quiet: light-dark(#516066, #9cacb2);
  --first: light-dark(#0e6a75, #5ec8d2);
  --second: light-dark(#b4540a, #f0a860);
  --third: light-dark(#8a7fb0, #a79bd0);
  --bad: light-dark(#b3261e, #ff9a91);
  --bad-soft: light-dark(#fcebe9, #3a1d1c);
  --good: light-dark(#1b6b3a, #7fd39b);
  --good-soft: light-dark(#e4f3e9, #16301f);
  --warn: light-dark(#7a5200, #e9bf6a);
  --warn-soft: light-dark(#fbf1dc, #352a12);
}
* { box-sizing: border-box; margin: 0; padding: 0; }
html { background: var(--ground); color: var(--text); -webkit-text-size-adjust: 100%; text-size-adjust: 100%; }
body {
  font: 400 .875rem/1.5 system-ui, -apple-system, "Segoe UI", Roboto, "Helvetica Neue", "Noto Sans", "DejaVu Sans", sans-serif;
  font-variant-numeric: tabular-nums;
  max-width: 76rem; margin: 0 auto; padding: 2rem 1.5rem 4rem;
}
h1 { font-size: 1.5rem; font-weight: 650; letter-spacing: -.01em; line-height: 1.3; overflow-wrap: anywhere; }
h1 .quiet { font-weight: 400; }
h2 { font-size: 1rem; font-weight: 650; line-height: 1.4; margin-bottom: .5rem; }
figcaption h2 { margin-bottom: 0; }
bdi { overflow-wrap: anywhere; }
code, pre { font: .8125rem/1.5 ui-monospace, "SF Mono", Menlo, Consolas, "DejaVu Sans Mono", monospace; overflow-wrap: anywhere; }
.quiet, .caption, .more, dt { color: var(--quiet); }
th .quiet { font-weight: 400; }
.missed { color: var(--bad); }
.met { color: var(--good); }

.tiles { display: grid; grid-template-columns: repeat(auto-fit, minmax(min(100%, 8rem), 1fr)); gap: .75rem; margin: 1.25rem 0 .75rem; }
.tiles > div { background: var(--surface); border: 1px solid var(--line); border-radius: 10px; padding: .625rem .875rem .75rem; }
.tiles dt { font-size: .8125rem; }
.tiles .value { display: block; font-size: 1.375rem; font-weight: 650; line-height: 1.35; letter-spacing: -.01em; overflow-wrap: anywhere; }
.tiles .more { display: block; font-size: .75rem; overflow-wrap: anywhere; }
.tiles .bad .value { color: var(--bad); }
.tiles .good .value { color: var(--good); }

main { display: grid; grid-template-columns: repeat(2, minmax(0, 1fr)); gap: .75rem; align-items: start; }
section { background: var(--surface); border: 1px solid var(--line); border-radius: 10px; padding: 1rem 1.125rem; min-width: 0; }
.wide, .notice { grid-column: 1 / -1; }
.charts { align-self: stretch; }
.notice ul { padding-left: 1.125rem; }
.notice.warn { background: var(--warn-soft); border-color: transparent; }
.notice.warn h2 { color: var(--warn); }
.notice.bad { background: var(--bad-soft); border-color: transparent; overflow-wrap: anywhere; }
.notice.bad h2 { color: var(--bad); }
.notice.good { background: var(--good-soft); border-color: transparent; }
.notice.good h2 { color: var(--good); }

.chart figcaption { display: flex; flex-wrap: wrap; gap: .25rem 1rem; justify-content: space-between; align-items: baseline; }
.legend { display: flex; flex-wrap: wrap; gap: .25rem 1rem; list-style: none; font-size: .8125rem; }
.key { width: 18px; height: 12px; margin-right: .375rem; overflow: visible; }
.caption { font-size: .75rem; margin-top: .25rem; }
.end { text-align: right; }
.frame { display: grid; grid-template-columns: 3.5rem minmax(0, 1fr); padding: .625rem 1rem 0 0; }
.frame > svg { display: block; width: 100%; overflow: visible; }
.y-axis, .plot { height: 12.5rem; }
.y-axis { padding-right: .5rem; }
.x-axis { grid-column: 2; height: 1.25rem; }
.bands { grid-column: 2; height: 1.25rem; }
.bands > svg { overflow: hidden; }
.charts:not(.wide) .bands { display: none; }
.wide .y-axis, .wide .plot { height: 15rem; }
.frame text { fill: var(--quiet); font-size: .75rem; }
svg path { stroke-width: 1.75px; vector-effect: non-scaling-stroke; stroke-linejoin: round; stroke-linecap: round; }
path.grid { stroke: var(--line); stroke-width: 1px; }
path.first { stroke: var(--first); }
path.second { stroke: var(--second); }
path.third { stroke: var(--third); stroke-width: 1.25px; }
path.bad { stroke: var(--bad); }
path.quiet { stroke: var(--quiet); stroke-width: 1.25px; stroke-dasharray: 4 4; }
path.dots { stroke-width: 9px; }
.key path.dots { stroke-dasharray: 0 99; stroke-dashoffset: -9; }
path.area { stroke: none; }
path.area.first { fill: color-mix(in srgb, var(--first) 30%, transparent); }
path.area.bad { fill: var(--bad); }
.band { fill: var(--sunken); fill-opacity: 1; stroke: none; }
.band.counts { fill: none; }
path.begin { stroke: var(--line); stroke-width: 1px; stroke-dasharray: 2 4; }
.spots rect:hover { fill: var(--text); fill-opacity: .1; }

.scroll { overflow-x: auto; margin: 0 -1.125rem; padding: 0 1.125rem; }
.scroll:focus-visible { outline: 2px solid var(--first); outline-offset: -2px; border-radius: 6px; }
table { border-collapse: collapse; width: 100%; font-size: .8125rem; }
th, td { text-align: left; padding: .375rem .875rem .375rem 0; border-top: 1px solid var(--line); vertical-align: baseline; }
th:last-child, td:last-child { padding-right: 0; }
thead th { border-top: 0; color: var(--quiet); font-weight: 400; white-space: nowrap; }
tbody th { font-weight: 500; min-width: 7rem; }
.figure { text-align: right; white-space: nowrap; }
.words { min-width: 9rem; }
tbody th code { white-space: nowrap; }
.sum > * { font-weight: 650; border-top-color: var(--quiet); }
section > p + .scroll, .scroll + p, .chart + p, .about p, .about details { margin-top: .75rem; }
.about dl > div { display: flex; gap: .75rem; }
.about dt { flex: none; width: 4.5rem; }
.about p { max-width: 46rem; }
summary { cursor: pointer; }
pre { white-space: pre-wrap; margin-top: .5rem; background: var(--sunken); border-radius: 6px; padding: .75rem; }

@media (width < 48rem) {
  body { padding: 1.25rem .75rem 3rem; }
  main { grid-template-columns: minmax(0, 1fr); }
  .tiles { grid-template-columns: repeat(2, minmax(0, 1fr)); gap: .5rem; }
  .wide .y-axis, .wide .plot { height: 12.5rem; }
}
@media print { section, .tiles > div { break-inside: avoid; } .scroll { overflow: visible; } }
`;
