import type { Progress } from './progress-file.ts';

/** One input and what is done of it; undefined: nothing. */
export interface Sent {
  readonly name: string;
  readonly progress: Progress | undefined;
  readonly rejectedPath: string;
}

const number = (value: number): string => value.toLocaleString('en-GB');

/**
 * What is done, for a person: the sums over all inputs, runs before this one included.
 *
 * @param milliseconds how long this run took
 */
export const summaryText = (sent: readonly Sent[], milliseconds: number): string => {
  const sum = (of: 'recorded' | 'unchanged' | 'rejected'): number =>
    sent.reduce((total, { progress }) => total + (progress?.[of] ?? 0), 0);
  const rejectedPaths = sent.flatMap(({ progress, rejectedPath }) =>
    progress !== undefined && progress.rejected > 0 ? [rejectedPath] : [],
  );
  return [
    `recorded   ${number(sum('recorded'))}`,
    `unchanged  ${number(sum('unchanged'))}`,
    `rejected   ${number(sum('rejected'))}${rejectedPaths.length > 0 ? `, in ${rejectedPaths.join(', ')}` : ''}`,
    `time       ${(milliseconds / 1_000).toFixed(1)} s`,
  ].join('\n');
};
