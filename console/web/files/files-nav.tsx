import type { JSX } from 'preact';
import { formatNumber } from '../parts/format.ts';
import { useLoad } from '../parts/load.ts';
import { to } from '../router.ts';
import { session } from '../session.ts';
import { type HiddenKind, listFiles, noFilter } from './file-api.ts';

export const hiddenPaths = { trashed: 'trash', checking: 'checking', refused: 'quarantine' } as const;

interface FilesNavProps {
  readonly project: string;
  readonly current: HiddenKind | 'published';
  /** When it changes, files are counted again. */
  readonly total: number | undefined;
}

/** Links between the files, the trash and the files that a scanner holds back, where the server has them. */
export function FilesNav({ project, current, total }: FilesNavProps): JSX.Element | null {
  const { trashDays = 0, scansFiles = false } = session.value ?? {};
  const refused = useLoad(
    async (signal) => {
      if (!scansFiles) return 0;
      const page = await listFiles(project, noFilter, { after: null, limit: 1, hidden: 'refused', signal });
      return page.total ?? 0;
    },
    [project, scansFiles, total],
  );
  const base = to`/projects/${project}/files`;
  const kinds = [
    ['published', 'Files', true],
    ['trashed', 'Trash', trashDays > 0],
    ['checking', 'Being checked', scansFiles],
    ['refused', 'Quarantine', scansFiles],
  ] as const;
  const shown = kinds.filter(([kind, , isShown]) => isShown || kind === current);
  if (shown.length === 1) return null;
  return (
    <nav class="row file-kinds" aria-label="Files by state">
      {shown.map(([kind, label]) => (
        <a
          key={kind}
          href={kind === 'published' ? base : `${base}/${hiddenPaths[kind]}`}
          aria-current={kind === current ? 'page' : undefined}
        >
          {label}
          {/* at the end of the row, so that nothing moves when it comes */}
          {kind === 'refused' && (refused.data ?? 0) > 0 && (
            <>
              {' '}
              <span class="badge bad">{formatNumber(refused.data ?? 0)}</span>
            </>
          )}
        </a>
      ))}
    </nav>
  );
}
