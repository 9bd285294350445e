import { clearLine, cursorTo } from 'node:readline';

import { grouped } from './grouped.ts';

/** How far something has come. */
export interface Advance {
  /** What is being done now, in place of the label of the whole. */
  readonly label?: string;
  /** How much of it is done, 0 to 1; undefined if the whole is not known. */
  readonly part: number | undefined;
  /** What has been counted since the start, for the rate. */
  readonly count: number;
  /** What else to say. */
  readonly text?: string;
}

/** Without a terminal: a line at most so often, in milliseconds. A terminal's line is written again ten times a second at most. */
const LINE_EVERY_MS = 5_000;
const DRAW_EVERY_MS = 100;

/** Before that, a time left would be a guess. */
const ESTIMATE_AFTER_MS = 2_000;

/** How much was done, 0 to 1, and when, in milliseconds. */
interface Moment {
  readonly part: number;
  readonly at: number;
}

/**
 * The display of every command that takes long, on stderr: in a terminal a line that is written again, elsewhere a line every 5 seconds. Rate and
 * time left are those of the whole run so far, so that one slow or fast second does not move them.
 */
export class Progress {
  readonly #label: string;
  readonly #unit: string;
  readonly #started = performance.now();
  #nextAt: number;
  #begin: Moment | undefined;
  #isDrawn = false;

  /**
   * @param label what is being done
   * @param unit what is counted, in the plural
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

  /** Says something above the line. */
  note(text: string): void {
    this.end();
    console.error(text);
  }

  /** Takes the line away. */
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

/** How long the rest takes at the pace since the beginning, in milliseconds; undefined while that is a guess. */
export const timeLeft = (begin: Moment, now: Moment): number | undefined =>
  now.at - begin.at < ESTIMATE_AFTER_MS || now.part <= begin.part
    ? undefined
    : ((1 - now.part) / (now.part - begin.part)) * (now.at - begin.at);

/** A duration as a person says it. */
export const durationText = (milliseconds: number): string => {
  const seconds = Math.round(milliseconds / 1_000);
  if (seconds < 60) return `${seconds} s`;
  const minutes = Math.round(seconds / 60);
  return minutes < 60 ? `${minutes} min` : `${Math.floor(minutes / 60)} h ${minutes % 60} min`;
};
