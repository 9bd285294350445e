import * as z from 'zod';

// Checks without a call whether the provider would place calls. Times are in milliseconds since 1970.

export const providerCheckSchema = z.object({
  at: z.number(),
  /** Why calls surely cannot be placed; undefined: no known fault. */
  reason: z.string().optional(),
  since: z.number().optional(),
});

export type ProviderCheck = Readonly<z.output<typeof providerCheckSchema>>;

/** The intervals of the checks: usually, and while the provider refuses. */
const CHECKED_EVERY_MS = 3_600_000;
const CHECKED_AGAIN_MS = 60_000;

export const checkDueAt = (check: ProviderCheck | undefined): number => {
  if (check === undefined) return 0;
  return check.at + (check.reason === undefined ? CHECKED_EVERY_MS : CHECKED_AGAIN_MS);
};

/** The state after a check. @param refusal why the provider surely refuses; undefined: it does not, or it is not known */
export const afterCheck = (
  check: ProviderCheck | undefined,
  refusal: string | undefined,
  now: number,
): ProviderCheck => (refusal === undefined ? { at: now } : { at: now, reason: refusal, since: check?.since ?? now });

/** The provider accepted a call: it is usable. The same object if that is known. */
export const afterAcceptedCall = (check: ProviderCheck | undefined, now: number): ProviderCheck | undefined =>
  check?.reason === undefined ? check : { at: now };
