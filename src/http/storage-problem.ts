import { RecorderUnavailable } from '../analytics/record/recorder.ts';
import { StorageTrouble } from '../analytics/rows/table.ts';
import { Problem, type ProblemOf } from './problem.ts';

const RETRY_AFTER_SECONDS = 5;

/** Storage that does not answer, or not in time → 503 with `Retry-After`. */
export const storageProblem: ProblemOf = (error) =>
  error instanceof StorageTrouble || error instanceof RecorderUnavailable
    ? new Problem(
        503,
        {
          detail: 'Storage cannot do this now. Nothing is lost by sending the same again.',
          headers: { 'retry-after': String(RETRY_AFTER_SECONDS) },
        },
        { cause: error },
      )
    : undefined;
