import type { ComponentChildren } from 'preact';
import { useId } from 'preact/hooks';

import { type Wording, wordingOf } from '../model/alert-state.ts';
import { cssColor, type Palette } from '../model/categories.ts';
import { agoText, inText, lengthText, type TimeText } from '../model/times.ts';
import { useSeconds, useShown } from './shown.ts';
import { goTo } from './view-link.tsx';

/** A time, with the other zone in its title. */
export const TimeWords = ({ of: { text, other }, at }: { readonly of: TimeText; readonly at?: string }) => (
  <time {...(at === undefined ? {} : { dateTime: at })} {...(other === undefined ? {} : { title: other })}>
    {text}
  </time>
);

/** A time from an answer, without the year, or without the date. */
export const Time = ({ at, as = 'moment' }: { readonly at: string; readonly as?: 'moment' | 'clock' }) => {
  const { times } = useShown();
  return <TimeWords of={times[as](Date.parse(at))} at={at} />;
};

/** `4 min`, `4 min ago`, or `in 40 s`: it changes every second. `at`: ISO 8601. */
export const Distance = ({ at, as }: { readonly at: string; readonly as: 'length' | 'ago' | 'in' }) => {
  const passed = useSeconds() - Date.parse(at);
  return <>{as === 'in' ? inText(-passed) : as === 'ago' ? agoText(passed) : lengthText(passed)}</>;
};

/** For readers who cannot tell the colors apart. */
const SIGNS: Readonly<Record<Wording['tone'], string>> = {
  good: '✓',
  pending: '◌',
  unsure: '?',
  bad: '✕',
  neutral: '•',
};

export const Mark = ({ of }: { readonly of: Wording | string }) => {
  const { text, tone } = typeof of === 'string' ? wordingOf(of) : of;
  return (
    <span class={`status ${tone}`}>
      <span class="sign" aria-hidden="true">
        {SIGNS[tone]}
      </span>{' '}
      {text}
    </span>
  );
};

export const Swatch = ({ palette, of }: { readonly palette: Palette; readonly of: string }) => (
  <span class="swatch" aria-hidden="true" style={{ backgroundColor: cssColor(palette, of) }} />
);

/** Says that a part of the page is not current. */
export const PartNote = ({ note }: { readonly note: string | undefined }) =>
  note === undefined ? null : <span class="part-note">{note}</span>;

/** A question mark that explains a label: a pointer, the keyboard and a screen reader reach it. */
export const Tip = ({ about, children }: { readonly about: string; readonly children: string }) => {
  const id = useId();
  return (
    <span class="tip">
      <button type="button" class="tip-button" aria-label={`What is this: ${about}`} aria-describedby={id}>
        ?
      </button>
      <span id={id} role="tooltip" class="tip-text">
        {children}
      </span>
    </span>
  );
};

interface CardProps {
  readonly id: string;
  readonly title: string;
  /** The period, if it is not the page's. */
  readonly of?: string;
  readonly tip?: string;
  readonly note: string | undefined;
  readonly busy: boolean;
  readonly children: ComponentChildren;
}

export const Card = ({ id, title, of, tip, note, busy, children }: CardProps) => (
  <section class="card" aria-labelledby={id} aria-busy={busy}>
    <header class="card-head">
      <h2 id={id} tabIndex={-1}>
        {title} {of === undefined ? null : <span class="note">{of}</span>}
      </h2>
      {tip === undefined ? null : <Tip about={title}>{tip}</Tip>}
      <PartNote note={note} />
    </header>
    {busy ? <Skeleton /> : children}
  </section>
);

/** Shown in place of a table until its first answer. */
export const Skeleton = () => (
  <div class="skeleton">
    <span class="unseen">Loading…</span>
  </div>
);

interface JumpLinkProps {
  readonly to: string;
  readonly class?: string;
  readonly onFollow?: () => void;
  readonly title?: string;
  readonly children: ComponentChildren;
}

/** Leads to an element of the page. The address stays: it holds the view. */
export const JumpLink = ({ to, class: className = '', onFollow, title, children }: JumpLinkProps) => (
  <a
    class={className}
    href={`#${to}`}
    {...(title === undefined ? {} : { title })}
    onClick={(event) => {
      event.preventDefault();
      onFollow?.();
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
