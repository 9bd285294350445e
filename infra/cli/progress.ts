import { grouped } from './grouped.ts';

export interface Advance {
  /** Names the current step. */
  readonly label: string;
  /** The finished part of the work, 0 to 1; undefined if its size is unknown. */
  readonly part: number | undefined;
  /** The number of units since the start, for the rate. */
  readonly count: number;
  readonly text?: string;
}

const LINE_EVERY_MS = 5_000;

/**
 * The progress of a long command, on stderr: a line every 5 seconds. Rate and time left are averages of the whole run.
 *
 * @param unit the counted things, in the plural
 * @returns receives each advance
 */
export const startProgress = (unit: string): ((advance: Advance) => void) => {
  const started = performance.now();
  let nextAt = started + LINE_EVERY_MS;
  let begin: { readonly part: number; readonly at: number } | undefined;
  return ({ label, part, count, text = '' }) => {
    const now = performance.now();
    // A command that resumes begins with a finished part.
    if (part !== undefined) begin ??= { part, at: now };
    if (now < nextAt) return;
    nextAt = now + LINE_EVERY_MS;
    const facts = [label];
    if (part !== undefined) facts.push(`${Math.floor(part * 100)} %`);
    facts.push(`${grouped(Math.round((count * 1_000) / (now - started)))} ${unit}/s`);
    if (part !== undefined && begin !== undefined && part > begin.part) {
      facts.push(`${durationText(((1 - part) / (part - begin.part)) * (now - begin.at))} left`);
    }
    if (text !== '') facts.push(text);
    console.error(facts.join('  '));
  };
};

/** @example durationText(80_000) // '1 min' */
const durationText = (milliseconds: number): string => {
  const seconds = Math.round(milliseconds / 1_000);
  if (seconds < 60) return `${seconds} s`;
  const minutes = Math.round(seconds / 60);
  return minutes < 60 ? `${minutes} min` : `${Math.floor(minutes / 60)} h ${minutes % 60} min`;
};
