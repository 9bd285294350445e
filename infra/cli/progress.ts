import { clearLine, cursorTo } from 'node:readline';

import { grouped } from './grouped.ts';

/** How far something has come. */
export interface Advance {
  /** How much of it is done, 0 to 1; undefined if the whole is not known. */
  readonly part: number | undefined;
  /** What has been counted since the start, for the rate. */
  readonly count: number;
  /** What else to say. */
  readonly text?: string;
}

/** If there is no terminal: a line at most so often, in milliseconds. A bar is drawn anew ten times a second at most. */
const LINE_EVERY_MS = 5_000;
const DRAW_EVERY_MS = 100;

/** Before that, a time left would be a guess. */
const ESTIMATE_AFTER_MS = 2_000;

const BAR_WIDTH = 16;

/** How much was done, 0 to 1, and when, in milliseconds. */
interface Moment {
  readonly part: number;
  readonly at: number;
}

/**
 * The display of every command that takes long, on stderr: a bar in a terminal, a line every 5 seconds elsewhere. Rate and time left
 * are those of the whole run so far, so that one slow or fast second does not move them.
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
   * @param unit what is counted, in the plural; empty: no rate is shown
   */
  constructor(label: string, unit: string) {
    this.#label = label;
    this.#unit = unit;
    this.#nextAt = process.stderr.isTTY ? 0 : this.#started + LINE_EVERY_MS;
  }

  update({ part, count, text = '' }: Advance): void {
    const now = performance.now();
    if (part !== undefined) this.#begin ??= { part, at: now };
    if (now < this.#nextAt) return;
    this.#nextAt = now + (process.stderr.isTTY ? DRAW_EVERY_MS : LINE_EVERY_MS);
    const line = progressLine(
      {
        label: this.#label,
        part,
        rate: this.#unit === '' ? '' : rateText(count, now - this.#started, this.#unit),
        left: part === undefined || this.#begin === undefined ? undefined : timeLeft(this.#begin, { part, at: now }),
        text,
      },
      process.stderr.isTTY ? process.stderr.columns : Infinity,
    );
    if (process.stderr.isTTY) this.#draw(line);
    else console.error(line);
  }

  /** Says something above the bar. */
  note(text: string): void {
    this.end();
    console.error(text);
  }

  /** Takes the bar away. */
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

const rateText = (count: number, milliseconds: number, unit: string): string =>
  `${grouped(Math.round(count / Math.max(milliseconds / 1_000, 0.1)))} ${unit}/s`;

/** A duration as a person says it. */
export const durationText = (milliseconds: number): string => {
  const seconds = Math.round(milliseconds / 1_000);
  if (seconds < 60) return `${seconds} s`;
  const minutes = Math.round(seconds / 60);
  return minutes < 60 ? `${minutes} min` : `${Math.floor(minutes / 60)} h ${minutes % 60} min`;
};

interface Line extends Pick<Advance, 'part'> {
  readonly label: string;
  readonly rate: string;
  /** In milliseconds. */
  readonly left: number | undefined;
  readonly text: string;
}

/** A line of progress that fits between the edges of a terminal: first the text is left out, then the label is cut short from its left. */
export const progressLine = ({ label, part, rate, left, text }: Line, columns: number): string => {
  const filled = Math.round((part ?? 0) * BAR_WIDTH);
  const facts = [
    ...(part === undefined
      ? []
      : [`${'█'.repeat(filled)}${'░'.repeat(BAR_WIDTH - filled)} ${String(Math.floor(part * 100)).padStart(2)} %`]),
    rate,
    left === undefined ? '' : `${durationText(left)} left`,
  ].filter((fact) => fact !== '');
  const most = columns - 1;
  const fixed = facts.join('  ');
  const room = most - fixed.length - 2;
  const shownLabel = label.length <= room ? label : room < 2 ? '' : `…${label.slice(1 - room)}`;
  const line = [shownLabel, fixed].filter((word) => word !== '').join('  ');
  return text === '' || line.length + 2 + text.length > most ? line : `${line}  ${text}`;
};
