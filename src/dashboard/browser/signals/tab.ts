import type { Health } from '../model/health.ts';

/** Drawn over the flame of the icon. Each has its own shape. */
const MARKS: Readonly<Record<Health['icon'], string>> = {
  calm: '',
  alert: '<circle cx="22" cy="22" r="10" fill="#c00"/><path d="M22 15v8m0 3v3" stroke="#fff" stroke-width="4"/>',
  open: '<path d="M22 11 32 31H12z" fill="#fb0"/><path d="M22 18v6m0 2v3" stroke="#111" stroke-width="3"/>',
  outage:
    '<path d="M2 2 30 30M30 2 2 30" stroke="#111" stroke-width="6"/><path d="M2 2 30 30M30 2 2 30" stroke="#fff" stroke-width="2"/>',
  silence: '<path d="M13 13h18v18H13z" fill="#fc0"/><path d="M19 17v10m6-10v10" stroke="#111" stroke-width="4"/>',
};

/** Sets the icon and the title of the tab. The title starts with the count of open alerts. */
export const showInTab = (
  { icon, titleWords }: Pick<Health, 'icon' | 'titleWords'>,
  openCount: number,
  title: string,
): void => {
  const text = `${openCount === 0 ? '' : `(${openCount}) `}${[...titleWords, title].join(' · ')}`;
  if (document.title !== text) document.title = text;
  const link = document.querySelector<HTMLLinkElement>('link[rel=icon]');
  if (link === null || (link.dataset['shown'] ?? 'calm') === icon) return;
  const flame = (link.dataset['flame'] ??= link.href);
  link.dataset['shown'] = icon;
  link.href = flame.replace('%3C/svg%3E', `${encodeURIComponent(MARKS[icon])}%3C/svg%3E`);
};
