import type { ComponentChildren } from 'preact';

import { type Wording, wordingOf } from '../model/alerts.ts';
import { cssColor, type Palette } from '../model/categories.ts';
import type { TimeText } from '../model/times.ts';
import { goTo, useShown } from './shown.ts';

/** A time, with the other zone in its title. */
export const TimeWords = ({ of: { text, other }, at }: { readonly of: TimeText; readonly at?: string }) => (
  <time {...(at === undefined ? {} : { dateTime: at })} {...(other === undefined ? {} : { title: other })}>
    {text}
  </time>
);

/** A time from an answer, formatted in full, without the year, or without the date. */
export const Time = ({ at, as = 'moment' }: { readonly at: string; readonly as?: 'time' | 'moment' | 'clock' }) => {
  const { times } = useShown();
  return <TimeWords of={as === 'time' ? times.time(at) : times[as](Date.parse(at))} at={at} />;
};

const count = new Intl.NumberFormat(undefined, { maximumFractionDigits: 0 });
const short = new Intl.NumberFormat(undefined, { notation: 'compact', maximumFractionDigits: 1 });
const share = new Intl.NumberFormat(undefined, { style: 'percent', maximumSignificantDigits: 2 });

/** `12,345`; `12K`; `12%`, in the reader's language. */
export const numbers = {
  count: (value: number) => count.format(value),
  short: (value: number) => short.format(value),
  share: (part: number, whole: number) => share.format(part / whole),
};

/** For readers who cannot tell the colors apart. */
const SIGNS: Readonly<Record<Wording['tone'], string>> = { good: '✓', pending: '…', bad: '✕', neutral: '•' };

export const Mark = ({ of }: { readonly of: Wording | string }) => {
  const { text, tone } = typeof of === 'string' ? wordingOf(of) : of;
  return (
    <span class={`status ${tone}`}>
      <span aria-hidden="true">{SIGNS[tone]}</span> {text}
    </span>
  );
};

export const Swatch = ({ palette, of }: { readonly palette: Palette; readonly of: string }) => (
  <span class="swatch" aria-hidden="true" style={{ backgroundColor: cssColor(palette, of) }} />
);

/** That a part is not current, or waits for its first answer. */
export const PartNote = ({ note, busy = false }: { readonly note: string | undefined; readonly busy?: boolean }) =>
  note !== undefined ? <span class="part-note">{note}</span> : busy ? <span class="note">Loading…</span> : null;

interface CardProps {
  readonly id: string;
  readonly title: ComponentChildren;
  readonly note: string | undefined;
  readonly busy: boolean;
  readonly children: ComponentChildren;
}

export const Card = ({ id, title, note, busy, children }: CardProps) => (
  <section class="card" aria-labelledby={id} aria-busy={busy}>
    <h2 id={id} tabIndex={-1}>
      {title} <PartNote note={note} busy={busy} />
    </h2>
    {children}
  </section>
);

interface JumpLinkProps {
  readonly to: string;
  readonly class?: string;
  readonly children: ComponentChildren;
}

/** Leads to an element of the page. The address stays: it holds the view. */
export const JumpLink = ({ to, class: className = '', children }: JumpLinkProps) => (
  <a
    class={className}
    href={`#${to}`}
    onClick={(event) => {
      event.preventDefault();
      goTo(document.getElementById(to));
    }}
  >
    {children}
  </a>
);

/** A long name is cut, with the whole in its title. */
export const Name = ({ children }: { readonly children: string }) => (
  <span class="name" title={children}>
    {children}
  </span>
);
