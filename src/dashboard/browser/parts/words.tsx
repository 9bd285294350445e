import type { ComponentChildren } from 'preact';
import { useId } from 'preact/hooks';

import { type Wording, wordingOf } from '../model/alert-state.ts';
import { cssColor, type Palette } from '../model/categories.ts';
import { spanTitle, zoneOf } from '../model/spans.ts';
import { agoText, inText, lengthText, type TimeText } from '../model/times.ts';
import { useSeconds, useShown } from './shown.ts';
import { goTo } from './view-link.tsx';

/** A time, with the other zone in its title. */
export const TimeWords = ({ of: { text, other }, at }: { readonly of: TimeText; readonly at?: string }) => (
  <time dateTime={at} title={other}>
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

/** `Today, Saturday 21 November 2026 PST · ridge-04` */
export const ViewTitle = () => {
  const { view, times, now } = useShown();
  return (
    <>
      {spanTitle(view.span, now, times)} {zoneOf(view.span, now, times)}
      {view.cameraId && [' · ', <bdi key="camera">{view.cameraId}</bdi>]}
    </>
  );
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
  note && <span class="part-note">{note}</span>;

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
    <header class="card-head row">
      <h2 id={id} tabIndex={-1}>
        {title} {of && <span class="note">{of}</span>}
      </h2>
      {tip && <Tip about={title}>{tip}</Tip>}
      <PartNote note={note} />
    </header>
    {busy ? <Skeleton /> : children}
  </section>
);

/** Shown in place of a table until its first answer. */
export const Skeleton = () => (
  <div class="waiting">
    <span class="unseen">Loading…</span>
  </div>
);

interface JumpLinkProps {
  readonly to: string;
  readonly class?: string;
  readonly onFollow?: () => void;
  readonly children: ComponentChildren;
}

/** Leads to an element of the page. The address stays: it holds the view. */
export const JumpLink = ({ to, class: className = '', onFollow, children }: JumpLinkProps) => (
  <a
    class={className}
    href={`#${to}`}
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
