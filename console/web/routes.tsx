import { AccountPage } from './account/account-page.tsx';
import { ConfirmEmailPage } from './account/confirm-email-page.tsx';
import { LoginPage } from './account/login-page.tsx';
import { RegisterPage } from './account/register-page.tsx';
import { FileRulesPage } from './files/file-rules-page.tsx';
import { FilesPage } from './files/files-page.tsx';
import { CheckingPage, QuarantinePage, TrashPage } from './files/held-files-page.tsx';
import { PresetsPage } from './files/presets-page.tsx';
import { InvitationPage } from './members/invitation-page.tsx';
import { MembersPage } from './members/members-page.tsx';
import { ProjectsPage } from './projects/projects-page.tsx';
import { RulesPage } from './projects/rules-page.tsx';
import { SpacesPage } from './projects/spaces-page.tsx';
import { StructurePage } from './projects/structure-page.tsx';
import { RecordsPage } from './records/records-page.tsx';
import { SummaryPage } from './records/summary-page.tsx';
import type { Route } from './router.ts';
import { TokensPage } from './tokens/tokens-page.tsx';
import { UsagePage } from './usage/usage-page.tsx';
import { WebhooksPage } from './webhooks/webhooks-page.tsx';

export const routes: readonly Route[] = [
  { pattern: '/login', page: LoginPage, section: null, outside: true },
  { pattern: '/register', page: RegisterPage, section: null, outside: true },
  { pattern: '/invitation', page: InvitationPage, section: null, either: true },
  { pattern: '/confirm-email', page: ConfirmEmailPage, section: null, either: true },
  { pattern: '/projects/:project/files', page: FilesPage, section: 'projects' },
  { pattern: '/projects/:project/files/rules', page: FileRulesPage, section: 'projects' },
  { pattern: '/projects/:project/files/presets', page: PresetsPage, section: 'projects' },
  { pattern: '/projects/:project/files/trash', page: TrashPage, section: 'projects' },
  { pattern: '/projects/:project/files/checking', page: CheckingPage, section: 'projects' },
  { pattern: '/projects/:project/files/quarantine', page: QuarantinePage, section: 'projects' },
  { pattern: '/tokens', page: TokensPage, section: 'tokens' },
  { pattern: '/members', page: MembersPage, section: 'members' },
  { pattern: '/webhooks', page: WebhooksPage, section: 'webhooks' },
  { pattern: '/usage', page: UsagePage, section: 'usage' },
  { pattern: '/account', page: AccountPage, section: 'account' },
  { pattern: '/projects', page: ProjectsPage, section: 'projects' },
  { pattern: '/projects/:project', page: SpacesPage, section: 'projects' },
  { pattern: '/projects/:project/spaces/:space', page: RecordsPage, section: 'projects' },
  { pattern: '/projects/:project/spaces/:space/summary', page: SummaryPage, section: 'projects' },
  { pattern: '/projects/:project/spaces/:space/structure', page: StructurePage, section: 'projects' },
  { pattern: '/projects/:project/spaces/:space/rules', page: RulesPage, section: 'projects' },
];
