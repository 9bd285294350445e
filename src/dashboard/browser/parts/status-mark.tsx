import { type Wording, wordingOf } from '../model/call-words.ts';

/** A sign beside the word, so that nobody has to tell the colours apart. */
const SIGNS: Readonly<Record<Wording['tone'], string>> = { good: '✓', pending: '…', bad: '✕', neutral: '•' };

/** A status or an outcome as a word with a sign. */
export const StatusMark = ({ status }: { readonly status: string }) => {
  const { text, tone } = wordingOf(status);
  return (
    <span class={`status ${tone}`}>
      <span aria-hidden="true">{SIGNS[tone]}</span> {text}
    </span>
  );
};
