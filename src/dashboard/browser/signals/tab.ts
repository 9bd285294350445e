import type { Health, Level } from '../model/health.ts';

/** Drawn over the flame of the icon. Each has its own shape. */
const MARKS: Readonly<Record<Level, string>> = {
  good: '',
  quiet: '',
  warn: '<path d="M22 11 32 31H12z" fill="#fb0"/><path d="M22 18v6m0 2v3" stroke="#111" stroke-width="3"/>',
  bad: '<circle cx="22" cy="22" r="10" fill="#c00"/><path d="M22 15v8m0 3v3" stroke="#fff" stroke-width="4"/>',
};

/** Sets the icon and the title of the tab: `Alerts 2 open · Today · Camera activity`. */
export const showInTab = ({ lamps, worst }: Pick<Health, 'lamps' | 'worst'>, title: readonly string[]): void => {
  const lit = lamps.filter(({ level }) => level === 'bad' || level === 'warn');
  const text = [...lit.map((lamp) => `${lamp.name} ${lamp.text}`), ...title].join(' · ');
  if (document.title !== text) document.title = text;
  const link = document.querySelector<HTMLLinkElement>('link[rel=icon]');
  if (link === null || link.dataset['shown'] === worst) return;
  const flame = (link.dataset['flame'] ??= link.href);
  link.dataset['shown'] = worst;
  link.href = flame.replace('%3C/svg%3E', `${encodeURIComponent(MARKS[worst])}%3C/svg%3E`);
};
