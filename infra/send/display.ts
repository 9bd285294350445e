import { Presets, SingleBar } from 'cli-progress';

import type { Progress } from './progress-file.ts';

/** Shows on stderr how far the sending has come; standard output is for the summary. */
export interface Display {
  /** Another input begins. */
  begin(name: string): void;
  update(progress: Progress, bytesRead: number, totalBytes: number | undefined): void;
  /** Says something without disturbing the bar. */
  note(text: string): void;
  end(): void;
}

/** Where there is no terminal: a line at most so often, in milliseconds. */
const LINE_EVERY_MS = 5_000;

const number = (value: number): string => value.toLocaleString('en-GB');

const counts = ({ recorded, unchanged, rejected }: Progress): string =>
  `${number(recorded)} recorded, ${number(unchanged)} unchanged, ${number(rejected)} rejected`;

/** A progress bar in a terminal; lines elsewhere, so that a log file stays readable. */
export const makeDisplay = (): Display => (process.stderr.isTTY ? new BarDisplay() : new LineDisplay());

class LineDisplay implements Display {
  #name = '';
  #nextLineAt = 0;

  begin(name: string): void {
    this.#name = name;
    this.#nextLineAt = Date.now() + LINE_EVERY_MS;
  }

  update(progress: Progress, bytesRead: number, totalBytes: number | undefined): void {
    if (Date.now() < this.#nextLineAt) return;
    this.#nextLineAt = Date.now() + LINE_EVERY_MS;
    const part = totalBytes === undefined ? '' : `${Math.floor((bytesRead / Math.max(totalBytes, 1)) * 100)} %: `;
    this.note(`${this.#name}: ${part}${counts(progress)}`);
  }

  note(text: string): void {
    console.error(text);
  }

  end(): void {
    // Lines need no clearing.
  }
}

class BarDisplay implements Display {
  readonly #bar = new SingleBar(
    {
      format: '{name} {bar} {percentage} % | {counts} | {eta_formatted} left',
      clearOnComplete: true,
      hideCursor: true,
    },
    Presets.shades_classic,
  );
  #isShown = false;
  #value = 0;
  #total = 1;
  #payload = { name: '', counts: '' };

  begin(name: string): void {
    this.end();
    this.#payload = { name, counts: '' };
    this.#value = 0;
  }

  update(progress: Progress, bytesRead: number, totalBytes: number | undefined): void {
    // Of standard input the end is not known: the bar stays at its end, the counts go on.
    this.#total = Math.max(totalBytes ?? bytesRead, 1);
    this.#value = bytesRead;
    this.#payload = { ...this.#payload, counts: counts(progress) };
    if (this.#isShown) this.#bar.setTotal(this.#total);
    this.#show();
  }

  note(text: string): void {
    const wasShown = this.#isShown;
    this.end();
    console.error(text);
    if (wasShown) this.#show();
  }

  end(): void {
    if (this.#isShown) this.#bar.stop();
    this.#isShown = false;
  }

  #show(): void {
    if (this.#isShown) this.#bar.update(this.#value, this.#payload);
    else this.#bar.start(this.#total, this.#value, this.#payload);
    this.#isShown = true;
  }
}
