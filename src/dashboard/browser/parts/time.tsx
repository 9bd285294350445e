import { times } from './texts.ts';

/** A time in UTC, and in the reader's own zone beside it. */
export const Time = ({ at }: { readonly at: string }) => {
  const own = times.own(at);
  return (
    <time dateTime={at}>
      {times.utc(at)}
      {own === undefined ? null : <span class="own"> ({own} your time)</span>}
    </time>
  );
};
