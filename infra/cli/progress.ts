import { clearLine, cursorTo } from 'node:readline';

import { grouped } from './grouped.ts';

export interface Advance {
  /** Names the current step, in place of the label of the whole. */
  readonly label?: string;
  /** The finished part of the work, 0 to 1; undefined if its size is unknown. */
  readonly part: number | undefined;
  /** The number of units since the start, for the rate. */
  readonly count: number;
  readonly text?: string;
}

/** The least time between two lines without a terminal, and between two versions of a terminal's line, in milliseconds. */
const LINE_EVERY_MS = 5_000;
const DRAW_EVERY_MS = 100;

/** Before this time, an estimate would be a guess. */
const ESTIMATE_AFTER_MS = 2_000;

/** The finished part, 0 to 1, at a time in milliseconds. */
interface Moment {
  readonly part: number;
  readonly at: number;
}

/**
 * The progress of a long command, on stderr: in a terminal one line that changes, elsewhere a line every 5 seconds. Rate and time left are averages of
 * the whole run.
 */
export class Progress {
  readonly #label: string;
  readonly #unit: string;
  readonly #started = performance.now();
  #nextAt: number;
  #begin: Moment | undefined;
  #isDrawn = false;

  /**
   * @param label names the work
   * @param unit the counted things, in the plural
   */
  constructor(label: string, unit: string) {
    this.#label = label;
    this.#unit = unit;
    this.#nextAt = process.stderr.isTTY ? 0 : this.#started + LINE_EVERY_MS;
  }

  update({ label = this.#label, part, count, text = '' }: Advance): void {
    const now = performance.now();
    if (part !== undefined) this.#begin ??= { part, at: now };
    if (now < this.#nextAt) return;
    this.#nextAt = now + (process.stderr.isTTY ? DRAW_EVERY_MS : LINE_EVERY_MS);
    const left = part === undefined || this.#begin === undefined ? undefined : timeLeft(this.#begin, { part, at: now });
    const line = [
      label,
      part === undefined ? '' : `${Math.floor(part * 100)} %`,
      `${grouped(Math.round(count / Math.max((now - this.#started) / 1_000, 0.1)))} ${this.#unit}/s`,
      left === undefined ? '' : `${durationText(left)} left`,
      text,
    ].filter((fact) => fact !== '');
    if (process.stderr.isTTY) this.#draw(line.join('  ').slice(0, process.stderr.columns - 1));
    else console.error(line.join('  '));
  }

  note(text: string): void {
    this.end();
    console.error(text);
  }

  end(): void {
    if (this.#isDrawn) this.#draw('');
    this.#isDrawn = false;
  }

  #draw(line: string): void {
    cursorTo(process.stderr, 0);
    clearLine(process.stderr, 0);
    process.stderr.write(line);
    this.#isDrawn = true;
  }
}

/** The time for the rest at the average pace, in milliseconds; undefined while it would be a guess. */
export const timeLeft = (begin: Moment, now: Moment): number | undefined =>
  now.at - begin.at < ESTIMATE_AFTER_MS || now.part <= begin.part
    ? undefined
    : ((1 - now.part) / (now.part - begin.part)) * (now.at - begin.at);

/** @example durationText(80_000) // '1 min' */
export const durationText = (milliseconds: number): string => {
  const seconds = Math.round(milliseconds / 1_000);
  if (seconds < 60) return `${seconds} s`;
  const minutes = Math.round(seconds / 60);
  return minutes < 60 ? `${minutes} min` : `${Math.floor(minutes / 60)} h ${minutes % 60} min`;
};
