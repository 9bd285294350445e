import { type Wording, wordingOf } from '../model/alerts.ts';
import { cssColour, type Paint } from '../model/categories.ts';
import type { TimeText } from '../model/times.ts';
import { useShown } from './shown.ts';

/** A time of one zone, with the other one in its title. */
export const TimeWords = ({ of: { text, other }, at }: { readonly of: TimeText; readonly at?: string }) => (
  <time {...(at === undefined ? {} : { dateTime: at })} {...(other === undefined ? {} : { title: other })}>
    {text}
  </time>
);

/** An instant as an answer has it, whole; without its year; or without its day. */
export const Time = ({ at, as = 'time' }: { readonly at: string; readonly as?: 'time' | 'moment' | 'clock' }) => {
  const { times } = useShown();
  return <TimeWords of={as === 'time' ? times.time(at) : times[as](Date.parse(at))} at={at} />;
};

const count = new Intl.NumberFormat(undefined, { maximumFractionDigits: 0 });
const short = new Intl.NumberFormat(undefined, { notation: 'compact', maximumFractionDigits: 1 });
const share = new Intl.NumberFormat(undefined, { style: 'percent', maximumSignificantDigits: 2 });

/** Numbers as the reader's language writes them: `12,345`; `12K`; `12%`. */
export const numbers = {
  count: (value: number) => count.format(value),
  short: (value: number) => short.format(value),
  share: (part: number, whole: number) => share.format(part / whole),
};

/** A sign beside the word, so that nobody has to tell the colours apart. */
const SIGNS: Readonly<Record<Wording['tone'], string>> = { good: '✓', pending: '…', bad: '✕', neutral: '•' };

export const Mark = ({ of }: { readonly of: Wording | string }) => {
  const { text, tone } = typeof of === 'string' ? wordingOf(of) : of;
  return (
    <span class={`status ${tone}`}>
      <span aria-hidden="true">{SIGNS[tone]}</span> {text}
    </span>
  );
};

/** A small mark as a category is painted; the words beside it say the same. */
export const Swatch = ({ paint: { colour, pattern } }: { readonly paint: Paint }) => (
  <span class={`swatch pattern-${pattern}`} aria-hidden="true" style={{ backgroundColor: cssColour(colour) }} />
);

/** What a part of the page has of its own question. */
export interface PartProps<Answer> {
  /** The last answer; undefined: none yet. */
  readonly answer: Answer | undefined;
  /** It waits for its first answer. */
  readonly busy: boolean;
  /** Why the answer is not current; undefined: it is. */
  readonly note: string | undefined;
}

/** Why what a part shows is not current, and as of when it is true; where it is current, nothing. */
export const PartNote = ({ note }: { readonly note: string | undefined }) =>
  note === undefined ? null : <span class="part-note">Not current: {note}</span>;

/** A name that may be long: cut, with the whole in its title. */
export const Name = ({ children }: { readonly children: string }) => (
  <span class="name" title={children}>
    {children}
  </span>
);
