import {
  type AttemptRef,
  formatCallContext,
  formatSpeechContext,
  parseCallContext,
  type SpeechRef,
} from '../../model/call-context.ts';
import { MESSAGE, type SpeechNumber } from '../../model/speech.ts';

/** Why Twilio posts to an address of ours: what becomes of the call, or what it is to do after it was answered, a key was pressed or a speech has ended. */
export type Occasion = 'status' | 'start' | 'key' | 'end';

/** What an address of ours says about the request that is posted there. */
export interface Address {
  /** Undefined in addresses that are not ours: another system has placed the call. */
  readonly occasion: Occasion | undefined;
  readonly attempt: AttemptRef | undefined;
  readonly speech: SpeechNumber;
  /** Counts the requests of a call that ask what to do: a repeat has the same number. */
  readonly step: number;
  /** How often the speech was said again because of a key without a meaning. */
  readonly again: number;
}

const OCCASIONS: ReadonlySet<string> = new Set<Occasion>(['status', 'start', 'key', 'end']);
const isOccasion = (text: string): text is Occasion => OCCASIONS.has(text);

// All tries of a request together get 15 s at most. Another instance may answer the next one. It is not part of what is signed.
const WEBHOOK_RULES = '#ct=2000&rt=5000&rc=2&rp=5xx,ct,rt';

/**
 * An address of ours. All characters are such that nobody on the way writes them otherwise: the signature is of the text.
 *
 * @param path that of a callback, with its base
 * @example addressOf('https://a.example/api/CustomCallback', { occasion: 'start', attempt })
 *   // 'https://a.example/api/CustomCallback?attempt=fe5c…-81aa…/3/3f0c…e1&on=start&step=0#ct=2000…'
 */
export const addressOf = (
  path: string,
  { occasion, attempt, speech = MESSAGE, step = 0, again = 0 }: Partial<Address> & { readonly occasion: Occasion },
): string => {
  const context =
    attempt &&
    (occasion === 'status' || occasion === 'start'
      ? formatCallContext(attempt)
      : formatSpeechContext({ ...attempt, speech }));
  const parts = [
    ...(context === undefined ? [] : [`attempt=${context}`]),
    `on=${occasion}`,
    `step=${step}`,
    ...(again === 0 ? [] : [`again=${again}`]),
  ];
  return `${path}?${parts.join('&')}${WEBHOOK_RULES}`;
};

const count = (text: string | null): number => (/^\d{1,3}$/.test(text ?? '') ? Number(text) : 0);

/** @param search of the request, as it came */
export const readAddress = (search: string): Address => {
  const query = new URLSearchParams(search);
  const occasion = query.get('on') ?? '';
  const context = parseCallContext(query.get('attempt') ?? undefined);
  return {
    occasion: isOccasion(occasion) ? occasion : undefined,
    attempt: context?.attempt,
    speech: context?.speech ?? MESSAGE,
    step: count(query.get('step')),
    again: count(query.get('again')),
  };
};

/** The speech that an address is about; undefined where it names no attempt. */
export const speechRefOf = ({ attempt, speech }: Address): SpeechRef | undefined => attempt && { ...attempt, speech };
