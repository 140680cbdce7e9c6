import type { ComponentChildren, JSX } from 'preact';
import { UploadStatus } from '../files/upload-panel.tsx';
import { isGrantedBeside } from '../granted.ts';
import { AccountSwitch } from '../members/account-switch.tsx';
import { navigate, type Route, to } from '../router.ts';
import { callConsole, forgetSession, session } from '../session.ts';
import { type Theme, theme } from '../theme.ts';
import { Button } from './button.tsx';
import { Icon, type IconName } from './icon.tsx';
import { toastProblem } from './toast.tsx';

const entries = [
  ['projects', 'Projects'],
  ['tokens', 'Tokens'],
  ['members', 'Members'],
  ['webhooks', 'Webhooks'],
  ['usage', 'Usage'],
  ['account', 'Account'],
] as const;

/** For the owner, and for members who manage the account. */
const managed: readonly string[] = ['tokens', 'members'];

function isShown(name: string): boolean {
  if (name === 'webhooks' || name === 'usage') return isGrantedBeside(name);
  return !managed.includes(name) || session.value?.acting?.manages === true;
}

interface ShellProps extends Pick<Route, 'section'> {
  readonly children: ComponentChildren;
}

export function Shell({ section, children }: ShellProps): JSX.Element {
  const shown = entries.filter(([name]) => isShown(name));
  return (
    <div class="shell">
      <a class="skip" href="#main">
        Skip to the content
      </a>
      <header class="side">
        <Brand />
        <AccountSwitch />
        <nav class="sections" aria-label="Main">
          {shown.map(([name, label]) => (
            <a key={name} href={to`/${name}`} aria-current={name === section ? 'true' : undefined}>
              <Icon name={name} />
              <span>{label}</span>
            </a>
          ))}
        </nav>
        <div class="side-foot">
          <UploadStatus />
          <p class="hint who cut" title={session.value?.account?.email}>
            {session.value?.account?.email}
          </p>
          <div class="row apart">
            <ThemeSwitch />
            <Button kind="quiet" small onClick={() => void leave()}>
              Log out
            </Button>
          </div>
        </div>
      </header>
      {children}
    </div>
  );
}

async function leave(): Promise<void> {
  try {
    await callConsole('/logout', { method: 'POST' });
    forgetSession();
    // the next person who logs in does not come back to this page
    navigate(to`/login`);
  } catch (thrown) {
    toastProblem(thrown);
  }
}

export function Brand(): JSX.Element {
  return (
    <a class="brand" href={to`/`}>
      <span class="brand-badge">
        <Icon name="logo" />
      </span>
      Sluice
    </a>
  );
}

const themes: readonly { value: Theme; label: string; icon: IconName }[] = [
  { value: 'system', label: 'Theme: system', icon: 'system' },
  { value: 'light', label: 'Theme: light', icon: 'sun' },
  { value: 'dark', label: 'Theme: dark', icon: 'moon' },
];

export function ThemeSwitch(): JSX.Element {
  return (
    <fieldset class="segments">
      <legend class="unseen">Theme</legend>
      {themes.map(({ value, label, icon }) => (
        <label key={value} title={label}>
          <input
            type="radio"
            name="theme"
            checked={theme.value === value}
            onChange={() => {
              theme.value = value;
            }}
          />
          <Icon name={icon} />
          <span class="unseen">{label}</span>
        </label>
      ))}
    </fieldset>
  );
}
