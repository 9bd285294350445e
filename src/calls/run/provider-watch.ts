import type { PhoneLine } from '../model/phone-line.ts';
import { afterCheck, checkDueAt } from '../rules/provider-check.ts';
import { resultFields } from './call-log.ts';
import type { Context } from './cases.ts';
import { resultOf } from './line-requests.ts';
import type { Log } from '../../log.ts';
import { WriteConflict } from '../../storage/errors.ts';

/** Checks the provider without calling anybody, if the last check of any instance is too old. @throws {StorageTrouble} */
export const watchProvider = async ({ line, store, clock }: Context, log: Log): Promise<void> => {
  const { lines, etag } = await store.lines();
  if (clock.now() < checkDueAt(lines.check)) return;
  const refusal = await refusalOf(line, log);
  try {
    await store.writeLines({ lines: { ...lines, check: afterCheck(lines.check, refusal, clock.now()) }, etag });
  } catch (error) {
    // A call was claimed, or another instance has checked, meanwhile: the next look finds what is left.
    if (!(error instanceof WriteConflict)) throw error;
  }
};

/** Why the provider surely refuses calls; undefined if it does not, or if that is not known. */
const refusalOf = async (line: PhoneLine, log: Log): Promise<string | undefined> => {
  try {
    await line.check();
    return undefined;
  } catch (error) {
    const result = resultOf(error);
    if (result.failure !== 'set_up') {
      log.warn('phone service not checked', resultFields(result));
      return undefined;
    }
    log.error('phone service not usable', resultFields(result));
    return result.reason ?? 'the phone service does not accept this app';
  }
};
