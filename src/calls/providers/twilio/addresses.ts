import { type AttemptRef, formatCallContext, MESSAGE, parseCallContext, type PromptNumber } from '../../model/ids.ts';

/** Why Twilio posts to an address of ours: the status of the call has changed, a key was pressed, or a prompt is over. */
type Occasion = 'status' | 'key' | 'end';

/** The facts that an address of ours carries, for the requests that Twilio posts there. */
export interface Address {
  /** Undefined in other addresses: another system placed the call. */
  readonly occasion: Occasion | undefined;
  readonly attempt: AttemptRef | undefined;
  /** The prompt that the call speaks. */
  readonly prompt: PromptNumber;
  /** How many keys the callee pressed before: a repeat of the request has the same number. */
  readonly keys: number;
}

const OCCASIONS: ReadonlySet<string> = new Set<Occasion>(['status', 'key', 'end']);
const isOccasion = (text: string): text is Occasion => OCCASIONS.has(text);

// Connect within 2 s, answer within 5 s, 2 repeats: all tries together get 15 s at most. Another instance may answer the next request. The fragment
// is not signed.
const WEBHOOK_RULES = '#ct=2000&rt=5000&rc=2&rp=5xx,ct,rt';

/**
 * An address of ours. No proxy re-encodes its characters: the signature covers the text.
 *
 * @param path the path of a callback, with its base
 * @example addressOf('https://a.example/api/CustomCallback', { occasion: 'end', attempt })
 *   // 'https://a.example/api/CustomCallback?attempt=fe5c…-81aa…/3/3f0c…e1&on=end#ct=2000…'
 */
export const addressOf = (
  path: string,
  { occasion, attempt, prompt = MESSAGE, keys = 0 }: Partial<Address> & { readonly occasion: Occasion },
): string => {
  const parts = [
    ...(attempt === undefined ? [] : [`attempt=${formatCallContext({ ...attempt, prompt })}`]),
    `on=${occasion}`,
    ...(keys === 0 ? [] : [`keys=${keys}`]),
  ];
  return `${path}?${parts.join('&')}${WEBHOOK_RULES}`;
};

/** @param search the query of the request, unchanged */
export const readAddress = (search: string): Address => {
  const query = new URLSearchParams(search);
  const occasion = query.get('on') ?? '';
  const keys = query.get('keys') ?? '';
  const context = parseCallContext(query.get('attempt') ?? undefined);
  return {
    occasion: isOccasion(occasion) ? occasion : undefined,
    attempt: context?.attempt,
    prompt: context?.prompt ?? MESSAGE,
    keys: /^\d{1,3}$/.test(keys) ? Number(keys) : 0,
  };
};
