import { render } from 'preact';
import { App } from './app.tsx';
import { startRouter } from './router.ts';
import { startTheme } from './theme.ts';

startTheme();
startRouter();
const root = document.getElementById('app');
if (root !== null) render(<App />, root);
