import { render } from 'preact';
import { App } from './app.tsx';
import { takeLink } from './members/link-token.ts';
import { startRouter } from './router.ts';
import { startTheme } from './theme.ts';

startTheme();
takeLink();
startRouter();
const root = document.getElementById('app');
if (root !== null) render(<App />, root);
