import { type Html, html } from './html.ts';

type Cell = Html | string;

/**
 * A table that scrolls sideways where the screen is narrow. The first column names its row.
 * @param name for those who don't see what it is about
 * @param options.texts columns of texts, from 0; others are figures
 * @param options.last whether the last row sums up the others
 */
export function table(
  name: string,
  heads: readonly string[],
  rows: readonly (readonly Cell[])[],
  { texts = [], last = false }: { readonly texts?: readonly number[]; readonly last?: boolean } = {},
): Html {
  const alignment = (column: number): Html | false =>
    column > 0 && html` class="${texts.includes(column) ? 'words' : 'figure'}"`;
  return html`<div class="scroll" tabindex="0" role="region" aria-label="${name}"><table><thead><tr>${heads.map(
    (head, column) => html`<th scope="col"${alignment(column)}>${head}</th>`,
  )}</tr></thead><tbody>${rows.map(
    (row, index) =>
      html`<tr${last && index === rows.length - 1 && html` class="sum"`}>${row.map((cell, column) =>
        column === 0 ? html`<th scope="row">${cell}</th>` : html`<td${alignment(column)}>${cell}</td>`,
      )}</tr>`,
  )}</tbody></table></div>`;
}
